package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/secret"
)

func TestSourceReadsBothForms(t *testing.T) {
	cases := []struct {
		in   string
		want secret.Source
	}{
		{`"DOCS_TOKEN"`, secret.Source{Env: "DOCS_TOKEN", Secret: "DOCS_TOKEN"}},
		{`{"env":"X","secret":"acme/docs"}`, secret.Source{Env: "X", Secret: "acme/docs"}},
		{`{"env":"X"}`, secret.Source{Env: "X"}},
		{`{"secret":"acme/docs"}`, secret.Source{Secret: "acme/docs"}},
	}
	for _, c := range cases {
		var got secret.Source
		if err := json.Unmarshal([]byte(c.in), &got); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.in, got, err, c.want)
		}
		again, err := json.Marshal(got)
		if err != nil || string(again) != c.in {
			t.Errorf("%s: written as %s, %v", c.in, again, err)
		}
	}
}

func TestSourceErrorsDoNotQuoteTheInput(t *testing.T) {
	for _, in := range []string{`["s3cretvalue"]`, `12345678`, `{"env":["s3cretvalue"]}`} {
		var s secret.Source
		err := json.Unmarshal([]byte(in), &s)
		if err == nil {
			t.Errorf("%s: accepted as %+v", in, s)
		} else if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "1234") {
			t.Errorf("%s: the error quotes it: %v", in, err)
		}
	}
}

func FuzzSource(f *testing.F) {
	for _, seed := range []string{`"X"`, `{"env":"X","secret":"acme/docs"}`, `{}`, `null`, `""`, `[1]`, `{"env":1}`, `{"ENV":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again secret.Source
		if json.Unmarshal(b, &s) != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || again != s {
			t.Errorf("%s reads as %+v, is written as %s and reads as %+v, %v", b, s, text, again, err)
		}
	})
}
