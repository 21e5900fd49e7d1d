package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"mcprelay/shared/audit"
)

// tourBudget bounds the tour's one call.
const tourBudget = 30 * time.Second

// tour makes one call through the running relay's own surface and prints the
// request, the result and the audit line it left.
func tour(ctx context.Context, l *localRelay, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, tourBudget)
	defer cancel()
	url := "http://" + addr + "/v1/servers/demo/tools/echo"
	body := `{"arguments":{"text":"hello","exact":9007199254740993}}`
	fmt.Printf("\ncurl -s %s -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n", url, l.minted, body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewBufferString(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.minted)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("calling the demo server: %w", err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	fmt.Printf("%s\n\n", reply)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the tour's call failed with HTTP status %d", response.StatusCode)
	}
	return printLast(ctx, l, reply)
}

// printLast prints the audit record of the call that gave the reply.
func printLast(ctx context.Context, l *localRelay, reply []byte) error {
	var answered struct {
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal(reply, &answered); err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	records, _, err := l.store.Audit(ctx, audit.Filter{Tenant: l.config.Tenant.ID, Server: "demo", Limit: audit.MaxPage})
	if err != nil {
		return err
	}
	for _, record := range records {
		if record.CallID == answered.CallID {
			line, err := json.Marshal(record)
			if err != nil {
				return err
			}
			fmt.Printf("relay: audit %s\n", line)
			return nil
		}
	}
	return fmt.Errorf("call %s left no audit record", answered.CallID)
}
