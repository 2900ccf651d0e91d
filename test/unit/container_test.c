// Containers by the paths of their cgroups and the files of their runtimes, which lie here under a folder made for it; JSON as such files hold it.
#include "run/run.h"
#include "t.h"
#include <errno.h>
#include <sys/stat.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define POD "kubepods-burstable-pod0f1e2d3c_0000_1111_2222_333344445555.slice"
static char root[64];

static void put(const char *path, const char *text)
{
	char *full = xasprintf("%s%s", root, path);
	for (char *p = full + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		if (mkdir(full, 0700) && errno != EEXIST)
			T_FAIL("%s: %s", full, strerror(errno));
	}
	FILE *f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		T_FAIL("%s: %s", full, strerror(errno));
	free(full);
}

static void is(const char *path, const char *want_name, const char *want_id)
{
	struct Str name = {0}, id = {0};
	container_of_path(root, path, &name, &id);
	if (strcmp(str_text(&name), want_name) || strcmp(str_text(&id), want_id))
		T_FAIL("%s: '%s', id '%s', expected '%s', '%s'", path, str_text(&name), str_text(&id), want_name, want_id);
	str_deinit(&name);
	str_deinit(&id);
}

static void begin(void)
{
	strcpy(root, "/tmp/sonde-container.XXXXXX");
	if (!mkdtemp(root))
		T_FAIL("mkdtemp: %s", strerror(errno));
}

static void end(void)
{
	char *cmd = xasprintf("rm -r %s", root);
	CHECK(!system(cmd));
	free(cmd);
}

TEST(ids_without_files)
{
	strcpy(root, "/nonexistent");
	is("/system.slice/docker-" A ".scope", "aaaaaaaaaaaa", A);
	is("/docker/" A, "aaaaaaaaaaaa", A);
	is("/docker/" A "/docker/" B, "bbbbbbbbbbbb", B); // Docker in Docker
	is("/docker/" A "/system.slice/cron.service", "aaaaaaaaaaaa", A); // systemd in Docker
	is("/machine.slice/libpod-" A ".scope/container", "aaaaaaaaaaaa", A);
	is("/libpod_parent/libpod-" A, "aaaaaaaaaaaa", A);
	is("/kubepods.slice/kubepods-burstable.slice/" POD "/cri-containerd-" A ".scope", "aaaaaaaaaaaa", A);
	is("/kubepods/burstable/pod0f1e2d3c-0000-1111-2222-333344445555/" A, "aaaaaaaaaaaa", A);
	is("/system.slice/containerd.service/" POD ":cri-containerd:" A, "aaaaaaaaaaaa", A);
	is("/kubepods.slice/" POD "/crio-" A ".scope/container", "aaaaaaaaaaaa", A);
	is("/system.slice/nerdctl-" A ".scope", "aaaaaaaaaaaa", A);
}

TEST(what_is_no_container)
{
	is("/", "[host]", "");
	is("", "[host]", "");
	is("/user.slice", "[host]", "");
	is("/system.slice/ssh.service", "ssh.service", "");
	is("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x\\x2dy.scope", "app-x-y.scope", "");
	is("/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "");
	is("/machine.slice/libpod-conmon-" A ".scope", "libpod-conmon-" A ".scope", "");
	is("/kubepods.slice/crio-conmon-" A ".scope", "crio-conmon-" A ".scope", "");
	is("/x/docker-" A "a.scope", "docker-" A "a.scope", ""); // one character too many
	is("/x/docker-ABC.scope", "docker-ABC.scope", "");
	is("/x/.service", "[host]", "");
}

TEST(names_in_paths)
{
	is("/machine.slice/machine-web\\x2d1.scope/payload", "web-1", "web-1");
	is("/machine.slice/systemd-nspawn@web.service/payload/system.slice/cron.service", "web", "web");
	is("/lxc.payload.web/init.scope", "web", "web");
	is("/lxc/web/system.slice", "web", "web");
}

TEST(names_of_runtimes)
{
	begin();
	put("/var/lib/docker/containers/" A "/config.v2.json", "{\"State\":{\"Name\":\"/wrong\",\"a\":[1,{}]},\"ID\":\"" A "\", \"Name\" : \"/web\"}");
	is("/system.slice/docker-" A ".scope", "web", A);
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" B "/config.json",
	    "{\"ociVersion\":\"1.1\",\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.sandbox-name\":\"shop-1\","
	    "\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}");
	is("/kubepods.slice/" POD "/cri-containerd-" B ".scope", "prod/shop-1/app", B);
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" B "/config.json",
	    "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\",\"io.kubernetes.cri.sandbox-name\":\"shop-1\",\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}");
	is("/kubepods.slice/" POD "/cri-containerd-" B ".scope", "prod/shop-1/POD", B);
	put("/run/containerd/io.containerd.runtime.v2.task/k8s.io/" B "/config.json", "{\"annotations\":{\"nerdctl/name\":\"db\"}}");
	is("/system.slice/nerdctl-" B ".scope", "db", B);
	end();
	begin();
	put("/var/lib/containers/storage/overlay-containers/containers.json", "[{\"id\":\"" A "\",\"names\":[\"other\"]},{\"id\":\"" B "\",\"names\":[\"pod_man\",\"x\"]}]");
	put("/var/lib/containers/storage/overlay-containers/" B "/userdata/config.json", "{\"annotations\":{\"io.container.manager\":\"libpod\"}}");
	is("/machine.slice/libpod-" B ".scope/container", "pod_man", B);
	put("/var/lib/containers/storage/overlay-containers/volatile-containers.json", "[{\"id\":\"" B "\",\"names\":[\"passing\"]}]");
	put("/var/lib/containers/storage/overlay-containers/containers.json", "[]");
	is("/machine.slice/libpod-" B ".scope", "passing", B);
	put("/run/containers/storage/overlay-containers/" A "/userdata/config.json",
	    "{\"annotations\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"shop-2\",\"io.kubernetes.pod.namespace\":\"test\","
	    "\"io.kubernetes.cri-o.ContainerName\":\"k8s_app_shop-2_test_uid_0\"}}");
	is("/kubepods.slice/" POD "/crio-" A ".scope", "test/shop-2/app", A);
	put("/var/log/containers/shop-3_prod_side_car-" B ".log", "");
	put("/var/lib/containers/storage/overlay-containers/volatile-containers.json", "{");
	is("/kubepods/burstable/podx/" B, "prod/shop-3/side_car", B);
	end();
}

TEST(files_that_are_not_what_they_should_be)
{
	static const char *const texts[] = {"", "{", "{\"Name\"", "{\"Name\":", "{\"Name\":\"", "{\"Name\":5}", "{\"Name\":\"\"}", "{\"Name\":\"/\"}", "[\"Name\",\"x\"]",
					    "{\"Name\":\"\\", "{\"Name\":\"\\u12", "{\"Name\":\"\\q\"}", "{{{{{{{{", "null", "\"Name\"", "{\"Name\" \"x\"}"};
	begin();
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put("/var/lib/docker/containers/" A "/config.v2.json", texts[i]);
		is("/docker/" A, "aaaaaaaaaaaa", A);
	}
	put("/var/lib/docker/containers/" A "/config.v2.json", "{\"Name\":\"/a\\nb\\u001b[31m;\\ud83d\\ude00\\ud800\\u0000\"}");
	is("/docker/" A, "a\nb\x1b[31m;\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd", A);
	end();
}

TEST(json_members_and_elements)
{
	static const char text_of[] = " {\"a\\\"b\" : [ 1 , \"x,]\" , { } ] ,\"c\":null , \"d\":{\"a\":\"deep\"}, \"e\":\"last\"} ";
	struct Json v = json_of(text_of, strlen(text_of)), one;
	struct Str key = {0}, text = {0};
	CHECK(json_text(json_member(v, "e"), &text));
	CHECK_STR(str_text(&text), "last");
	CHECK(!json_text(json_member(v, "c"), &text));
	CHECK(!json_member(v, "a").p);
	struct Json list = json_member(v, "a\"b");
	u32 n = 0;
	while (json_next(&list, &key, &one))
		n++;
	CHECK_EQ(n, 3);
	str_deinit(&key);
	str_deinit(&text);
}

T_MAIN()
