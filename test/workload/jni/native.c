// The half of Native.java that is in C. cc -shared -fPIC -o libnative.so native.c -I$JAVA_HOME/include -I$JAVA_HOME/include/linux
#define _GNU_SOURCE
#include <jni.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static JavaVM *vm;
static jmethodID compare, deeper, work;
static jobject native;
static long seconds;

struct By {
	JNIEnv *env;
	jobject by;
	long asked;
};

static int by_java(const void *a, const void *b, void *arg)
{
	struct By *by = arg;
	by->asked++;
	return (*by->env)->CallIntMethod(by->env, by->by, compare, *(jobject const *)a, *(jobject const *)b);
}

JNIEXPORT jint JNI_OnLoad(JavaVM *v, void *reserved)
{
	JNIEnv *env;
	vm = v;
	if ((*v)->GetEnv(v, (void **)&env, JNI_VERSION_1_8))
		return -1;
	jclass self = (*env)->FindClass(env, "Native"), comparator = (*env)->FindClass(env, "java/util/Comparator");
	compare = (*env)->GetMethodID(env, comparator, "compare", "(Ljava/lang/Object;Ljava/lang/Object;)I");
	deeper = (*env)->GetMethodID(env, self, "deeper", "(I)J");
	work = (*env)->GetMethodID(env, self, "work", "()J");
	return JNI_VERSION_1_8;
}

JNIEXPORT jlong JNICALL Java_Native_sort(JNIEnv *env, jclass c, jobjectArray a, jobject by)
{
	int n = (*env)->GetArrayLength(env, a);
	jobject items[n];
	struct By b = {env, by, 0};
	(*env)->PushLocalFrame(env, n + 16);
	for (int i = 0; i < n; i++)
		items[i] = (*env)->GetObjectArrayElement(env, a, i);
	qsort_r(items, n, sizeof(*items), by_java, &b);
	for (int i = 0; i < n; i++)
		(*env)->SetObjectArrayElement(env, a, i, items[i]);
	(*env)->PopLocalFrame(env, NULL);
	return b.asked;
}

JNIEXPORT jlong JNICALL Java_Native_nest(JNIEnv *env, jclass c, jobject n, jint depth)
{
	return (*env)->CallLongMethod(env, n, deeper, depth - 1) + 1;
}

JNIEXPORT void JNICALL Java_Native_doze(JNIEnv *env, jclass c)
{
	struct timespec ms = {0, 1000000};
	nanosleep(&ms, NULL);
}

static void *own_thread(void *arg)
{
	JNIEnv *env;
	time_t end = time(NULL) + seconds;
	(*vm)->AttachCurrentThread(vm, (void **)&env, NULL);
	while (time(NULL) < end)
		(*env)->CallLongMethod(env, native, work);
	(*vm)->DetachCurrentThread(vm);
	return NULL;
}

JNIEXPORT void JNICALL Java_Native_start(JNIEnv *env, jclass c, jobject n, jint s)
{
	pthread_t t;
	native = (*env)->NewGlobalRef(env, n);
	seconds = s;
	pthread_create(&t, NULL, own_thread, NULL);
}
