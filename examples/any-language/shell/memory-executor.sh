#!/bin/sh
# Executes tool_use blocks of the memory tool on a memory service. The script reads one block or array of blocks per
# line, and prints the tool_result for the next message. Requires curl 7.55 or newer.
#
#   ./memory-executor.sh < blocks.jsonl
set -u

url=${MEMORY_SERVICE_URL:-http://localhost:8080}
call_timeout=30 # seconds, including all retries
attempt_timeout=10
max_retries=8

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
umask 077
{
  echo 'Content-Type: application/json'
  [ -z "${MEMORY_SERVICE_API_KEY:-}" ] || printf 'Authorization: Bearer %s\n' "$MEMORY_SERVICE_API_KEY"
  [ -z "${MEMORY_SERVICE_TENANT:-}" ] || printf 'X-Tenant-Id: %s\n' "$MEMORY_SERVICE_TENANT"
} >"$work/headers" # A file hides the key from other users, who can see the arguments of a process.

# Sends the blocks in $work/blocks until the service returns a result. A block's ID is its idempotency key, so a write
# that is sent again unchanged is applied once.
execute() {
  deadline=$(($(date +%s) + call_timeout))
  retries=0
  while :; do
    : >"$work/result" >"$work/answered"
    status=$(curl --silent --max-time "$attempt_timeout" --header "@$work/headers" --data-binary "@$work/blocks" \
      --dump-header "$work/answered" --output "$work/result" --write-out '%{http_code}' "${url%/}/execute")
    code=$?
    if [ $code -eq 0 ]; then
      case $status in
        200) cat "$work/result"; echo; return 0 ;;
        429 | 502 | 503 | 504) ;;
        *) failed "answered $status: $(cat "$work/result")"; return 1 ;;
      esac
    fi
    retry_after=$(tr -d '\r' <"$work/answered" | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,6\}\)$/\1/p' | tail -n 1)
    # Exponential backoff with full jitter, added to Retry-After.
    wait=$(awk -v retries="$retries" -v after="${retry_after:-0}" -v seed="$$$retries" 'BEGIN {
      srand(seed + srand()); most = 0.2 * 2 ^ retries; printf "%.3f", after + rand() * (most > 5 ? 5 : most) }')
    if [ "$retries" -ge "$max_retries" ] || [ "$(awk -v w="$wait" -v now="$(date +%s)" -v end="$deadline" \
      'BEGIN { print (now + w > end) }')" = 1 ]; then
      if [ $code -eq 0 ]; then failed "answered $status: $(cat "$work/result")"
      else failed "cannot be reached (curl exit code $code)"; fi
      return 1
    fi
    retries=$((retries + 1))
    sleep "$wait"
  done
}

failed() { echo "The memory service $1" >&2; }

while IFS= read -r line || [ -n "$line" ]; do
  [ -n "$line" ] || continue
  printf '%s' "$line" >"$work/blocks"
  execute || exit 1
done
