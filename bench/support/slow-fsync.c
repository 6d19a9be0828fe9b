/*
 * Library to preload (LD_PRELOAD): fsync and fdatasync return FSYNC_MS milliseconds after the synchronization, as on a
 * slower disk, while the file FSYNC_SLOW_WHILE exists. The calling thread sleeps. Child processes inherit the delay.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec delay;
static const char *marker = "";

__attribute__((constructor)) static void read_environment(void) {
  const char *milliseconds = getenv("FSYNC_MS");
  const char *file = getenv("FSYNC_SLOW_WHILE");
  if (milliseconds == NULL || file == NULL) return;
  double seconds = atof(milliseconds) / 1000;
  delay.tv_sec = (time_t)seconds;
  delay.tv_nsec = (long)((seconds - (double)delay.tv_sec) * 1e9);
  /* Postgres overwrites its environment with the title of the process. */
  marker = strdup(file);
}

static int slow(long call, int file) {
  int result = (int)syscall(call, file);
  int error = errno;
  struct timespec left = delay;
  if (access(marker, F_OK) == 0)
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) continue;
  errno = error;
  return result;
}

int fsync(int file) { return slow(SYS_fsync, file); }

int fdatasync(int file) { return slow(SYS_fdatasync, file); }
