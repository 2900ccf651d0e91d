// A TCP transfer over loopback whose sizes are known.
// usage: tcp 4|6 COUNT SIZE... : COUNT messages of each SIZE, one send() each, from a client to a server thread that reads all; exits 0 when
// every byte has come. The client's port is 20004 or 20006, the server's 30004 or 30006: below those that the kernel gives to other tests' connections.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t received;

static void *serve(void *arg)
{
	int c = accept(*(int *)arg, NULL, NULL);
	static char buf[1 << 16];
	for (ssize_t n; c >= 0 && (n = recv(c, buf, sizeof(buf), 0)) > 0;)
		received += (size_t)n;
	close(c);
	return NULL;
}

static socklen_t address(struct sockaddr_storage *ss, int v6, int port)
{
	memset(ss, 0, sizeof(*ss));
	if (v6) {
		*(struct sockaddr_in6 *)ss = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		return sizeof(struct sockaddr_in6);
	}
	*(struct sockaddr_in *)ss = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return sizeof(struct sockaddr_in);
}

static int bound(int v6, int port)
{
	int s = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0), one = 1;
	struct sockaddr_storage ss;
	socklen_t n = address(&ss, v6, port);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return s < 0 || bind(s, (struct sockaddr *)&ss, n) ? -1 : s;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	int v6 = argv[1][0] == '6', server = bound(v6, v6 ? 30006 : 30004), client = bound(v6, v6 ? 20006 : 20004);
	struct sockaddr_storage ss;
	socklen_t n = address(&ss, v6, v6 ? 30006 : 30004);
	pthread_t t;
	static char buf[1 << 20];
	size_t sent = 0;
	if (server < 0 || client < 0 || listen(server, 1) || pthread_create(&t, NULL, serve, &server) || connect(client, (struct sockaddr *)&ss, n)) {
		fprintf(stderr, "tcp: %s\n", strerror(errno));
		return 1;
	}
	for (int i = 3; i < argc; i++)
		for (long k = strtol(argv[2], NULL, 10); k > 0; k--) {
			ssize_t r = send(client, buf, strtoul(argv[i], NULL, 10) & (sizeof(buf) - 1), 0);
			sent += r > 0 ? (size_t)r : 0;
		}
	// the connection lingers in TIME_WAIT otherwise, and its ports with it
	shutdown(client, SHUT_WR);
	pthread_join(t, NULL);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	close(client);
	return received == sent ? 0 : 1;
}
