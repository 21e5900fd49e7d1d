package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mcprelay/shared/call"
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

func TestSourcesOfOneSecretOverlap(t *testing.T) {
	const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:"
	env, name := func(s string) secret.Source { return secret.Source{Env: s} }, func(s string) secret.Source { return secret.Source{Secret: s} }
	cases := []struct {
		name string
		a, b secret.Source
		want bool
	}{
		{"one variable", env("X"), env("X"), true},
		{"two variables", env("X"), env("Y"), false},
		{"variables in two cases", env("X"), env("x"), false},
		{"one name", name("acme/docs"), name("acme/docs"), true},
		{"two names", name("acme/docs"), name("acme/doc"), false},
		{"one variable, two names", secret.Source{Env: "X", Secret: "a"}, secret.Source{Env: "X", Secret: "b"}, true},
		{"two variables, one name", secret.Source{Env: "X", Secret: "a"}, secret.Source{Env: "Y", Secret: "a"}, true},
		{"a variable and a name", env("X"), name("X"), false},
		{"a name and its ARN", name("acme/docs"), name(arn + "acme/docs-AbCdEf"), true},
		{"a name and its ARN without the random characters", name("acme/docs"), name(arn + "acme/docs"), true},
		{"a name and another's ARN", name("acme/docs"), name(arn + "acme/wiki-AbCdEf"), false},
		{"a name with a hyphen and its ARN", name("acme/docs-access"), name(arn + "acme/docs-access"), true},
		{"a name and the ARN of a longer one", name("acme/docs"), name(arn + "acme/docs-access-AbCdEf"), false},
		{"two names that only look random", name("acme/docs"), name("acme/docs-AbCdEf"), false},
		{"an ARN with and without the random characters", name(arn + "acme/docs-AbCdEf"), name(arn + "acme/docs"), true},
		{"ARNs of two regions", name(arn + "acme/docs-AbCdEf"), name(strings.Replace(arn, "eu-", "us-", 1) + "acme/docs-AbCdEf"), false},
		{"nothing", secret.Source{}, secret.Source{}, false},
	}
	for _, c := range cases {
		if c.a.Overlaps(c.b) != c.want || c.b.Overlaps(c.a) != c.want {
			t.Errorf("%s: got %v and %v, want %v", c.name, c.a.Overlaps(c.b), c.b.Overlaps(c.a), c.want)
		}
	}
}

func TestTheNameOfASecretIsTheARNsLastField(t *testing.T) {
	for id, want := range map[string]string{
		"acme/docs": "acme/docs", "": "", "arn": "arn", "arn:acme/docs": "arn:acme/docs",
		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:acme/docs-AbCdEf": "acme/docs-AbCdEf",
		"urn:aws:secretsmanager:eu-west-1:123456789012:secret:acme/docs-AbCdEf": "urn:aws:secretsmanager:eu-west-1:123456789012:secret:acme/docs-AbCdEf",
	} {
		if got := (secret.Source{Env: "X", Secret: id}).Name(); got != want {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	}
}

// A name of another tenant is a mistake in the registration, and no reason to
// use what was read before; the operator is told which it is.
func TestAForeignNameIsMissingAndSaysSo(t *testing.T) {
	bubble(t, func(t *testing.T, s *store, c *secret.Cache) {
		get(t, c, "one")
		s.set("", secret.ErrForeign)
		renew(t, c, "!secret_missing")
		_, refusal := c.Get(t.Context(), docs, source)
		if refusal == nil || refusal.Reason != call.SecretMissing || !strings.Contains(refusal.Detail, "not one of the tenant's") {
			t.Errorf("got %v, want secret_missing that says why", refusal)
		}
	})
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
