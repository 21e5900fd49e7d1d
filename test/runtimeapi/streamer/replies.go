package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func first(w http.ResponseWriter) { _, _ = io.WriteString(w, "first\n") }

// pass waits until the test answers.
func pass(word string) {
	if reply, err := http.Get(os.Getenv("GATE") + "/" + word); err == nil {
		_ = reply.Body.Close()
	}
}

func slow(w http.ResponseWriter, _ *http.Request) {
	first(w)
	pass("slow")
	_, _ = io.WriteString(w, "last\n")
}

// untilGone does its last act, as a relay writes its final, when the reader has gone.
func untilGone(w http.ResponseWriter, r *http.Request) {
	for first(w); r.Context().Err() == nil; {
		if _, err := io.WriteString(w, "more\n"); err != nil {
			<-r.Context().Done()
		}
	}
	pass("final")
}

func deadline(w http.ResponseWriter, r *http.Request) {
	end, _ := r.Context().Deadline()
	fmt.Fprint(w, time.Until(end).Milliseconds())
}

func echo(w http.ResponseWriter, r *http.Request) {
	w.Header()["X-Seen"] = r.Header.Values("X-Any")
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, "%s %s %s\n", r.Method, r.Host, r.RequestURI)
	_, _ = io.Copy(w, r.Body)
}
