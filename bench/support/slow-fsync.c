/*
 * Library to preload (LD_PRELOAD): fsync and fdatasync return late, as on a slower disk. The file FSYNC_DELAY_FILE has
 * the delay in milliseconds, and without the file, there is no delay. The calling thread sleeps. Child processes inherit
 * the delay.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *delay_file = "";

__attribute__((constructor)) static void read_environment(void) {
  const char *file = getenv("FSYNC_DELAY_FILE");
  /* Postgres overwrites its environment with the title of the process. */
  if (file != NULL) delay_file = strdup(file);
}

static struct timespec read_delay(void) {
  char milliseconds[32] = "";
  int file = open(delay_file, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    if (read(file, milliseconds, sizeof milliseconds - 1) < 0) milliseconds[0] = '\0';
    close(file);
  }
  double seconds = atof(milliseconds) / 1000;
  time_t whole = (time_t)seconds;
  return (struct timespec){.tv_sec = whole, .tv_nsec = (long)((seconds - (double)whole) * 1e9)};
}

static int slow(long call, int file) {
  int result = (int)syscall(call, file);
  int error = errno;
  struct timespec left = read_delay();
  int is_slow = left.tv_sec > 0 || left.tv_nsec > 0;
  while (is_slow && clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) continue;
  errno = error;
  return result;
}

int fsync(int file) { return slow(SYS_fsync, file); }

int fdatasync(int file) { return slow(SYS_fdatasync, file); }
