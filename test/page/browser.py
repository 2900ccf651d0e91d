"""A headless Chromium, driven over its DevTools pipe (--remote-debugging-pipe: messages ended by a zero byte on descriptors 3 and 4).

with Browser() as b: b.open('file:///...'); b.js('1 + 1'); b.key('s'); b.click(x, y); b.resize(390, 844)
Invariant: every exception of the page's own scripts, and every request to a network, is kept in b.errors.
"""
import base64, fcntl, json, os, select, shutil, signal, subprocess, tempfile, time

CHROMIUM = shutil.which('chromium') or shutil.which('chromium-browser')
KEYS = {'Enter': (13, '\r'), 'Escape': (27, ''), 'Backspace': (8, ''), 'ArrowLeft': (37, ''), 'ArrowUp': (38, ''), 'ArrowRight': (39, ''), 'ArrowDown': (40, ''), 'End': (35, ''),
        'Home': (36, ''), 'Tab': (9, '\t')}


class Browser:
    def __init__(self, width=1200, height=800):
        self.dir = tempfile.mkdtemp(prefix='sonde-browser.')
        to_r, self.to = os.pipe()
        self.back, back_w = os.pipe()
        self.errors, self.buf, self.last, self.session = [], b'', 0, None
        cmd = [CHROMIUM, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
               '--disable-quic', '--hide-scrollbars', '--remote-debugging-pipe', '--user-data-dir=' + self.dir, 'about:blank']
        far = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (to_r, back_w)]  # not 3 or 4 already
        self.proc = subprocess.Popen(cmd, pass_fds=(3, 4), preexec_fn=lambda: [os.dup2(fd, 3 + i) for i, fd in enumerate(far)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in [to_r, back_w] + far:
            os.close(fd)
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.call('Browser.grantPermissions', permissions=['clipboardReadWrite', 'clipboardSanitizedWrite'])
        self.resize(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.killpg(self.proc.pid, signal.SIGKILL)
        self.proc.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    # ---- messages
    def message(self, until):
        while b'\0' not in self.buf:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError('the browser does not answer')
            got = os.read(self.back, 1 << 16)
            if not got:
                raise EOFError('the browser has ended')
            self.buf += got
        text, _, self.buf = self.buf.partition(b'\0')
        return json.loads(text)

    def call(self, method, **params):
        self.last += 1
        msg = {'id': self.last, 'method': method, 'params': params}
        if self.session and not method.startswith(('Target.', 'Browser.')):
            msg['sessionId'] = self.session
        os.write(self.to, json.dumps(msg).encode() + b'\0')
        until = time.monotonic() + 60
        while True:
            got = self.message(until)
            self.note(got)
            if got.get('id') == self.last:
                if 'error' in got:
                    raise RuntimeError('%s: %s' % (method, got['error']))
                return got['result']

    def note(self, got):
        p = got.get('params', {})
        if got.get('method') == 'Runtime.exceptionThrown':
            d = p['exceptionDetails']
            self.errors.append('%s line %s: %s' % (d.get('url', ''), d.get('lineNumber'), d.get('exception', {}).get('description', d['text'])))
        elif got.get('method') == 'Network.requestWillBeSent' and not p['request']['url'].startswith(('file:', 'about:')):
            self.errors.append('request of ' + p['request']['url'][:100])
        elif got.get('method') == 'Log.entryAdded' and p['entry']['level'] == 'error':
            self.errors.append(p['entry']['text'])
        elif got.get('method') == 'Page.javascriptDialogOpening':
            self.errors.append('dialog: ' + p['message'])

    # ---- what a person does
    def js(self, expr):
        r = self.call('Runtime.evaluate', expression=expr, returnByValue=True, awaitPromise=True, userGesture=True)
        if 'exceptionDetails' in r:
            raise RuntimeError('%s: %s' % (expr, r['exceptionDetails'].get('exception', {}).get('description', '')))
        return r['result'].get('value')

    def open(self, url):
        self.call('Page.navigate', url='about:blank')
        self.call('Page.navigate', url=url)
        until = time.monotonic() + 60
        while self.js('location.href + document.readyState') != url + 'complete':
            if time.monotonic() > until:
                raise TimeoutError(url)
            time.sleep(0.02)
        self.drawn()

    def drawn(self):
        """Waits until the fonts are there and what was changed is on the screen: a click goes to what is drawn."""
        self.js('document.fonts.ready.then(function () { return new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(function () { done(0); }); }); }); })')

    def resize(self, width, height, mobile=False, scale=1):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        self.call('Emulation.setTouchEmulationEnabled', enabled=mobile)
        self.drawn()

    def dark(self, on):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark' if on else 'light'}])

    def key(self, key, **mods):
        code, text = KEYS.get(key) or (ord(key.upper()) if key.isalnum() else 0, key)
        bits = (1 if mods.get('alt') else 0) | (2 if mods.get('ctrl') else 0)
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, windowsVirtualKeyCode=code, modifiers=bits, **({'text': text} if text and kind == 'keyDown' and not bits else {}))

    def write(self, text):
        for c in text:
            self.key(c)

    def click(self, x, y):
        for kind in ('mouseMoved', 'mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='none' if kind == 'mouseMoved' else 'left', clickCount=0 if kind == 'mouseMoved' else 1)

    def point(self, x, y):
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def picture(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.call('Page.captureScreenshot', format='png')['data']))
