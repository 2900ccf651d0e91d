// Messages to servers, over HTTP: libcurl's transfers, one a destination at a time, none of which anybody waits for.
// In: the first message of each queue. Out: it is gone once a server has it, or has said that it will never take it. Invariant: an answer of any length or none
// costs at most ANSWER_MAX bytes and SEND_SECONDS; what a server does not take for reasons of its own is sent again, later and later.
//
// libcurl is opened when an agent has somebody to send to (dlopen): as a library of sonde's it would be loaded, with the thirty that it needs, at each start. A static agent
// (`make static-agent`) is linked with one of its own.
#include "agent/internal.h"
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>

#define ANSWER_MAX 65536
#define SEND_SECONDS 20L
#define CONNECT_SECONDS 5L
#define AGAIN_FIRST 1ull // seconds until the next try
#define AGAIN_MAX 60ull
#define RETRY_MAX 600ull // what a server may ask for at most

// The functions used, under their names without "curl_"
#define CURL_FUNCTIONS(F)                                                                                                              \
	F(global_init)                                                                                                                 \
	F(easy_init) F(easy_setopt) F(easy_getinfo) F(easy_cleanup) F(easy_strerror)                                                  \
	F(slist_append) F(slist_free_all)                                                                                              \
	F(multi_init) F(multi_cleanup) F(multi_add_handle) F(multi_remove_handle) F(multi_perform) F(multi_fdset) F(multi_info_read)
static struct {
#define MEMBER(name) __typeof__(curl_##name) *name;
	CURL_FUNCTIONS(MEMBER)
} curl;
static CURLM *multi; // of the process
static const struct SendOpts *opts;

#ifdef SONDE_CURL_LINKED
static struct err *curl_find(void)
{
#define TAKE(name) curl.name = curl_##name;
	CURL_FUNCTIONS(TAKE)
	return NULL;
}
#else
static struct err *curl_find(void)
{
	static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
#define WANTED(name) {"curl_" #name, &curl.name},
	static const struct { const char *name; void *to; } wanted[] = {CURL_FUNCTIONS(WANTED)};
	void *lib = NULL;
	for (size_t i = 0; i < ARRAY_LEN(files) && !lib; i++)
		lib = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return err_new("sending needs libcurl, which is not here: install libcurl4, or write files with --dir");
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		void *f = dlsym(lib, wanted[i].name);
		if (!f)
			return err_new("the libcurl that is here has no %s: install a newer libcurl4", wanted[i].name);
		memcpy(wanted[i].to, &f, sizeof(f)); // ISO C has no conversion from an object's pointer to a function's
	}
	return NULL;
}
#endif

struct err *send_open(const struct SendOpts *o)
{
	struct err *e = curl_find();
	opts = o;
	if (!e && curl.global_init(CURL_GLOBAL_DEFAULT))
		e = err_new("libcurl cannot start");
	if (!e && !(multi = curl.multi_init()))
		e = err_new("libcurl cannot start");
	return e;
}

// ---- one transfer

static size_t on_answer(char *p, size_t size, size_t n, void *arg)
{
	struct Destination *d = arg;
	if (d->answer.n + n > ANSWER_MAX) {
		d->endless = true;
		return 0; // ends the transfer
	}
	str_addn(&d->answer, p, n);
	return n;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
	struct Destination *d = arg;
	size_t at = 12;
	if (n <= at || strncasecmp(p, "retry-after:", at))
		return n;
	while (at < n && (p[at] == ' ' || p[at] == '\t'))
		at++;
	d->retry_after_s = 0; // a date is no number, nor is -1
	for (; at < n && p[at] >= '0' && p[at] <= '9'; at++)
		d->retry_after_s = MIN(d->retry_after_s * 10 + (u64)(p[at] - '0'), RETRY_MAX);
	return n;
}

static struct err *begin(struct Spool *s, struct Destination *d)
{
	struct Message *m = d->queue.first;
	str_reset(&d->answer);
	d->endless = false;
	d->retry_after_s = 0;
	d->error[0] = 0;
	struct err *e = spool_body(s, m);
	if (e)
		return e;
	CURL *h = d->easy = curl.easy_init();
	if (!h)
		return err_errno(ENOMEM, "libcurl cannot begin");
	char *url = xasprintf("%s%s%s", d->url, *m->query ? "?" : "", m->query);
	struct curl_slist *head = NULL;
	head = curl.slist_append(head, d->kind == SEND_OTLP ? "Content-Type: application/x-protobuf" : "Content-Type: application/octet-stream");
	if (d->kind == SEND_OTLP)
		head = curl.slist_append(head, "Content-Encoding: gzip");
	head = curl.slist_append(head, "Expect:"); // no round trip before the body
	for (u32 i = 0; i < opts->nheaders; i++)
		head = curl.slist_append(head, opts->headers[i]);
	d->headers = head;
	curl.easy_setopt(h, CURLOPT_URL, url);
	curl.easy_setopt(h, CURLOPT_POST, 1L);
	curl.easy_setopt(h, CURLOPT_POSTFIELDS, m->body.p);
	curl.easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)m->size);
	curl.easy_setopt(h, CURLOPT_HTTPHEADER, head);
	curl.easy_setopt(h, CURLOPT_USERAGENT, "sonde");
	curl.easy_setopt(h, CURLOPT_WRITEFUNCTION, on_answer);
	curl.easy_setopt(h, CURLOPT_WRITEDATA, (void *)d);
	curl.easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
	curl.easy_setopt(h, CURLOPT_HEADERDATA, (void *)d);
	curl.easy_setopt(h, CURLOPT_ERRORBUFFER, d->error);
	curl.easy_setopt(h, CURLOPT_TIMEOUT, SEND_SECONDS);
	curl.easy_setopt(h, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
	curl.easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L); // what we send is for who was named
	if (opts->ca)
		curl.easy_setopt(h, CURLOPT_CAINFO, opts->ca);
	free(url);
	if (curl.multi_add_handle(multi, h))
		return err_errno(ENOMEM, "libcurl cannot begin");
	m->sending = true;
	d->tries++;
	return NULL;
}

static void forget(struct Destination *d)
{
	if (!d->easy)
		return;
	curl.multi_remove_handle(multi, d->easy);
	curl.easy_cleanup(d->easy);
	curl.slist_free_all(d->headers);
	d->easy = d->headers = NULL;
	d->queue.first->sending = false;
}

static void again_later(struct Destination *d, u64 now_ns, const char *why)
{
	u64 wait = MIN(AGAIN_FIRST << MIN(d->failures, 16u), AGAIN_MAX);
	if (!d->failures++) {
		struct Str shown = {0};
		str_add_shown(&shown, why, MIN(strlen(why), (size_t)300));
		fprintf(stderr, "WARNING: %s: %s; profiles wait, and it is tried again\n", d->url, str_text(&shown));
		str_deinit(&shown);
	}
	d->next_ns = now_ns + MAX(wait, d->retry_after_s) * 1000000000ull;
}

// The server will not take this one, whenever it comes: it goes, or all others would wait behind it.
static bool never(long status)
{
	return status == 400 || status == 413 || status == 415 || status == 422;
}

// ExportProfilesServiceResponse.partial_success (1): rejected_profiles (1), how many it has not taken; error_message (2), why
static u64 rejected(const struct Str *answer, struct Str *why)
{
	struct Pb all = {(const u8 *)str_text(answer), (const u8 *)str_text(answer) + answer->n};
	u64 n = 0;
	for (struct PbField part, f; pb_field(&all, &part);)
		while (part.number == 1 && pb_field(&part.sub, &f))
			if (f.number == 1 && f.wire == PB_WIRE_VARINT)
				n = f.v;
			else if (f.number == 2 && f.wire == PB_WIRE_BYTES)
				str_addn(why, (const char *)f.sub.p, (size_t)(f.sub.end - f.sub.p));
	return n;
}

// It lies with us, and another time a message may go.
static bool passes(int code)
{
	return code == EMFILE || code == ENFILE || code == ENOMEM;
}

static void refuse(struct Destination *d, const char *what)
{
	struct Str shown = {0};
	str_add_shown(&shown, str_text(&d->answer), MIN(d->answer.n, (size_t)300));
	if (!d->refused)
		fprintf(stderr, "WARNING: %s: %s%s%s\n", d->url, what, shown.n ? ": " : "", str_text(&shown));
	str_deinit(&shown);
	d->refused++;
	d->refused_samples += d->queue.first->samples;
}

static void end(struct Spool *s, struct Destination *d, CURLcode code, u64 now_ns)
{
	long status = 0;
	char why[400];
	curl.easy_getinfo(d->easy, CURLINFO_RESPONSE_CODE, &status);
	forget(d);
	bool taken = status >= 200 && status < 300 && (!code || d->endless); // it has the message, whatever it says then
	if (!taken && !never(status)) {
		if (code && !d->endless)
			snprintf(why, sizeof(why), "%s", d->error[0] ? d->error : curl.easy_strerror(code));
		else
			snprintf(why, sizeof(why), "it answers %ld%s", status, status >= 300 && status < 400 ? ", another place, where nothing is sent" : "");
		again_later(d, now_ns, why);
		return;
	}
	if (d->failures)
		fprintf(stderr, "%s: answers again, %u messages wait\n", d->url, d->queue.n);
	d->failures = 0;
	d->next_ns = 0;
	struct Str said = {0};
	u64 left_out = taken && d->kind == SEND_OTLP ? rejected(&d->answer, &said) : 0;
	if (left_out) {
		str_reset(&d->answer); // in protocol buffers
		str_addf(&d->answer, "%llu profiles rejected%s", (unsigned long long)left_out, said.n ? ": " : "");
		str_addn(&d->answer, str_text(&said), said.n);
	}
	str_deinit(&said);
	if (!taken || left_out)
		refuse(d, taken ? "it has not taken all" : "it refuses a message, which is lost");
	else {
		d->sent++;
		d->sent_samples += d->queue.first->samples;
	}
	spool_done(s, &d->queue);
}

void send_step(struct Spool *s, struct Destination *d, u32 n, u64 now_ns)
{
	int running, left;
	if (!multi)
		return;
	for (u32 i = 0; i < n; i++) {
		if (d[i].easy || !d[i].queue.first || now_ns < d[i].next_ns)
			continue;
		struct err *e = begin(s, &d[i]);
		if (!e)
			continue;
		forget(&d[i]);
		if (passes(err_code(e)))
			again_later(&d[i], now_ns, err_text(e));
		else { // its file is gone, or is no more what it was
			fprintf(stderr, "WARNING: %s\n", err_text(e));
			s->dropped++;
			s->dropped_samples += d[i].queue.first->samples;
			spool_done(s, &d[i].queue);
		}
		err_free(e);
	}
	curl.multi_perform(multi, &running);
	for (CURLMsg *m; (m = curl.multi_info_read(multi, &left));)
		for (u32 i = 0; i < n; i++)
			if (m->msg == CURLMSG_DONE && d[i].easy == m->easy_handle) {
				end(s, &d[i], m->data.result, now_ns);
				break;
			}
}

bool send_busy(const struct Destination *d, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (d[i].easy)
			return true;
	return false;
}

u64 send_next(const struct Destination *d, u32 n)
{
	u64 next = 0;
	for (u32 i = 0; i < n; i++)
		if (!d[i].easy && d[i].queue.first && (!next || d[i].next_ns < next))
			next = MAX(d[i].next_ns, 1ull);
	return next;
}

u32 send_fds(struct pollfd *fds, u32 max)
{
	fd_set in, out, other;
	int top = -1;
	u32 n = 0;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&other);
	if (!multi || curl.multi_fdset(multi, &in, &out, &other, &top))
		return 0;
	for (int fd = 0; fd <= top && n < max; fd++)
		if (FD_ISSET(fd, &in) || FD_ISSET(fd, &out))
			fds[n++] = (struct pollfd){fd, (short)((FD_ISSET(fd, &in) ? POLLIN : 0) | (FD_ISSET(fd, &out) ? POLLOUT : 0)), 0};
	return n;
}

void send_close(struct Destination *d, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		forget(&d[i]);
		str_deinit(&d[i].answer);
		free(d[i].url);
	}
	if (multi)
		curl.multi_cleanup(multi);
	multi = NULL;
}
