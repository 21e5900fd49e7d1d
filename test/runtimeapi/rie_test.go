package runtimeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"mcprelay/test/peers"
)

func encode(t *testing.T, e events.APIGatewayProxyRequest) []byte {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// underTheOfficialEmulator is an independent look at the Runtime API contract:
// AWS's own emulator starts the same program. It serves one invocation at a
// time and buffers replies, so what streams is tried elsewhere.
func underTheOfficialEmulator(t *testing.T, w *world) {
	front, api := freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log := &output{}
	emulator := exec.CommandContext(ctx, peers.Tool(t, "aws-lambda-rie"), "--log-level", "error",
		"--runtime-interface-emulator-address", front, "--runtime-api-address", api, w.bootstrap)
	emulator.Env = append([]string{"AWS_REGION=us-east-1", "AWS_LAMBDA_FUNCTION_TIMEOUT=75"}, w.env...)
	emulator.Stdout, emulator.Stderr = log, log
	emulator.WaitDelay = time.Second // the bootstrap may hold the pipes a moment longer
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = emulator.Wait() }()
	body := invokeEmulator(t, front, calling(t, "docs", "test_simple_text"), log)
	head, payload, found := bytes.Cut(body, make([]byte, 8))
	var prelude struct {
		StatusCode int
		Headers    map[string]string
	}
	if err := json.Unmarshal(head, &prelude); !found || err != nil {
		t.Fatalf("got %q, want a prelude and a body: %v\n%s", body, err, log)
	}
	if prelude.StatusCode != 200 || prelude.Headers["Content-Type"] != "application/json" || !strings.Contains(string(payload), `"outcome":"answered"`) {
		t.Errorf("got %s %s", head, payload)
	}
	wholeStream(t, w, func(event []byte) []byte { return invokeEmulator(t, front, event, log) })
}

// invokeEmulator posts one event, as soon as the emulator listens.
func invokeEmulator(t *testing.T, front string, event []byte, log *output) []byte {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		response, err := http.Post("http://"+front+"/2015-03-31/functions/function/invocations", "application/json", bytes.NewReader(event))
		if err == nil {
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("the emulator does not answer: %v\n%s", err, log)
		}
		<-time.After(20 * time.Millisecond) // until it listens
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr())
}
