// Where Prometheus reads: a listening socket, and what little of HTTP a scrape needs (RFC 9112): GET /metrics, an answer, the end of the connection.
// In: requests of anybody. Out: metrics_text(). Invariant: a client costs at most REQUEST_MAX bytes and CLIENT_SECONDS, and there are SCRAPES of them at most.
//
// This is no library's (libmicrohttpd) because the static one brings GnuTLS with it, and a shared one would be loaded at each start of sonde.
#include "agent/internal.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 8192u
#define CLIENT_SECONDS 10ull

struct err *scrape_open(struct Scrape *s, const char *place)
{
	char host[128] = "127.0.0.1";
	const char *colon = strrchr(place, ':'), *port = colon ? colon + 1 : place;
	u64 number;
	s->fd = -1;
	for (u32 i = 0; i < SCRAPES; i++)
		s->clients[i].fd = -1;
	if (colon) {
		bool brackets = *place == '[' && colon > place && colon[-1] == ']';
		snprintf(host, sizeof(host), "%.*s", (int)(colon - place - 2 * brackets), place + brackets);
	}
	if (!parse_u64(port, &number) || !number || number > 65535)
		return err_new("must be PORT or ADDRESS:PORT");
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE}, *a;
	int r = getaddrinfo(*host ? host : NULL, port, &hints, &a), one = 1;
	if (r)
		return err_new("must be PORT or ADDRESS:PORT, with the address in numbers (0.0.0.0: all): %s", gai_strerror(r));
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	struct err *e = fd < 0 || bind(fd, a->ai_addr, a->ai_addrlen) || listen(fd, SCRAPES) ? err_errno(errno, "cannot listen on %s", place) : NULL;
	freeaddrinfo(a);
	if (e && fd >= 0)
		close(fd);
	s->fd = e ? -1 : fd;
	return e;
}

u32 scrape_fds(const struct Scrape *s, struct pollfd *fds)
{
	u32 n = 0;
	if (s->fd < 0)
		return 0;
	fds[n++] = (struct pollfd){s->fd, POLLIN, 0};
	for (u32 i = 0; i < SCRAPES; i++)
		if (s->clients[i].fd >= 0)
			fds[n++] = (struct pollfd){s->clients[i].fd, s->clients[i].out.n ? POLLOUT : POLLIN, 0};
	return n;
}

static void leave(struct ScrapeClient *c)
{
	close(c->fd);
	str_deinit(&c->in);
	str_deinit(&c->out);
	*c = (struct ScrapeClient){.fd = -1};
}

static void answer(struct Scrape *s, struct ScrapeClient *c, const struct Agent *a)
{
	const char *in = str_text(&c->in);
	size_t line = strcspn(in, "\r\n");
	bool get = !strncmp(in, "GET ", 4), head = !strncmp(in, "HEAD ", 5);
	const char *path = in + (head ? 5 : 4), *status = "200 OK";
	size_t n = get || head ? strcspn(path, " ?\r\n") : 0;
	struct Str body = {0};
	if (c->in.n >= REQUEST_MAX || line >= REQUEST_MAX)
		status = "431 Request Header Fields Too Large";
	else if (!get && !head)
		status = "405 Method Not Allowed\r\nAllow: GET, HEAD";
	else if (n == 1 && *path == '/')
		str_add(&body, "sonde agent: /metrics\n");
	else if (n == 8 && !memcmp(path, "/metrics", 8))
		metrics_text(a, &body);
	else
		status = "404 Not Found";
	if (*status == '2')
		s->served++;
	else {
		s->bad++;
		str_addf(&body, "%.3s\n", status);
	}
	str_addf(&c->out, "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status, body.n);
	if (!head)
		str_addn(&c->out, str_text(&body), body.n);
	str_deinit(&body);
}

static void take(struct Scrape *s, struct ScrapeClient *c, const struct Agent *a)
{
	char buf[4096];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		leave(c);
		return;
	}
	str_addn(&c->in, buf, (size_t)n);
	if (memmem(c->in.p, c->in.n, "\r\n\r\n", 4) || memmem(c->in.p, c->in.n, "\n\n", 2) || c->in.n >= REQUEST_MAX)
		answer(s, c, a);
}

static void give(struct ScrapeClient *c)
{
	ssize_t n = send(c->fd, c->out.p + c->at, c->out.n - c->at, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->at += n > 0 ? (size_t)n : 0;
	if (n <= 0 || c->at == c->out.n) {
		shutdown(c->fd, SHUT_WR);
		leave(c);
	}
}

static void let_in(struct Scrape *s, u64 now_ns)
{
	for (u32 i = 0; i < SCRAPES; i++) {
		struct ScrapeClient *c = &s->clients[i];
		if (c->fd >= 0)
			continue;
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		*c = (struct ScrapeClient){.fd = fd, .since_ns = now_ns};
	}
}

void scrape_step(struct Scrape *s, const struct Agent *a, u64 now_ns)
{
	if (s->fd < 0)
		return;
	let_in(s, now_ns);
	for (u32 i = 0; i < SCRAPES; i++) {
		struct ScrapeClient *c = &s->clients[i];
		if (c->fd >= 0 && !c->out.n)
			take(s, c, a);
		if (c->fd >= 0 && c->out.n)
			give(c);
		if (c->fd >= 0 && now_ns - c->since_ns > CLIENT_SECONDS * 1000000000ull)
			leave(c);
	}
}

void scrape_close(struct Scrape *s)
{
	for (u32 i = 0; s->fd >= 0 && i < SCRAPES; i++)
		if (s->clients[i].fd >= 0)
			leave(&s->clients[i]);
	if (s->fd >= 0)
		close(s->fd);
}
