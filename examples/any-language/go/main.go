// Executes tool_use blocks of the memory tool on a memory service. The program reads one block or array of blocks per
// line, and prints the tool_result for the next message. In an agent, keep execute and call it from your loop.
//
//	go run main.go < blocks.jsonl
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	callTimeout    = 30 * time.Second // with all retries
	attemptTimeout = 10 * time.Second
	maxRetries     = 8
)

type memoryService struct {
	url, apiKey, tenant string
	client              *http.Client
}

// execute sends blocks until the service returns a result. The ID of a block is its idempotency key, so a write that is
// sent again unchanged is applied once.
func (m *memoryService) execute(ctx context.Context, blocks []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for retries := 0; ; retries++ {
		result, wait, err := m.attempt(ctx, blocks)
		if err == nil || wait < 0 || retries == maxRetries {
			return result, err
		}
		// Exponential backoff with full jitter, added to Retry-After.
		backoff := min(200*time.Millisecond<<retries, 5*time.Second)
		select {
		case <-time.After(wait + rand.N(backoff)):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// attempt sends blocks once. It also returns the minimum wait before the next attempt, or a negative duration if
// another attempt is useless.
func (m *memoryService) attempt(ctx context.Context, blocks []byte) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url+"/execute", bytes.NewReader(blocks))
	if err != nil {
		return nil, -1, err
	}
	request.Header.Set("Content-Type", "application/json")
	if m.apiKey != "" {
		request.Header.Set("Authorization", "Bearer "+m.apiKey)
	}
	if m.tenant != "" {
		request.Header.Set("X-Tenant-Id", m.tenant)
	}
	response, err := m.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, 0, err
	}
	if response.StatusCode == http.StatusOK {
		return body, 0, nil
	}
	err = fmt.Errorf("The memory service answered %d: %s", response.StatusCode, body)
	switch response.StatusCode {
	case 429, 502, 503, 504:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return nil, time.Duration(max(seconds, 0)) * time.Second, err
	}
	return nil, -1, err
}

func main() {
	memory := &memoryService{
		url:    strings.TrimRight(getenv("MEMORY_SERVICE_URL", "http://localhost:8080"), "/"),
		apiKey: os.Getenv("MEMORY_SERVICE_API_KEY"),
		tenant: os.Getenv("MEMORY_SERVICE_TENANT"),
		// A redirect would send the memory's contents to an unknown address.
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, end := lines.ReadBytes('\n')
		if blocks := bytes.TrimSpace(line); len(blocks) > 0 {
			result, err := memory.execute(context.Background(), blocks)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Printf("%s\n", result)
		}
		if end == io.EOF {
			return
		}
		if end != nil {
			fmt.Fprintln(os.Stderr, end)
			os.Exit(1)
		}
	}
}

func getenv(name, byDefault string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return byDefault
}
