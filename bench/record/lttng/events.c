// Events records N events from each of so many threads by LTTng-UST, and
// prints how many ns of processor time one took.
//
//	events number|text N THREADS
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "events.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long n;
static int text;

static void record(long count) {
	for (long i = 0; i < count; i++) {
		if (text)
			lttng_ust_tracepoint(bench, text, "0123456789abcdef");
		else
			lttng_ust_tracepoint(bench, number, i);
	}
}

static void *thread(void *unused) {
	record(n);
	return unused;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv) {
	if (argc != 4)
		return 2;
	text = strcmp(argv[1], "text") == 0;
	n = atol(argv[2]);
	int threads = atoi(argv[3]);
	pthread_t all[64];
	if (threads < 1 || threads > 64)
		return 2;
	record(n / 10);
	double before = now();
	for (int i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, thread, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	printf("%f\n", (now() - before) / ((double)n * threads));
	return 0;
}
