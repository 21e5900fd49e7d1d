package dynamo_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"mcprelay/shared/audit"
	"mcprelay/shared/session"
	"mcprelay/shared/store/dynamo"
)

// errConflict is what a lost race for a session gives.
var errConflict = session.ErrConflict

func TestFromStreamReadsTheRecord(t *testing.T) {
	want := recordAt(time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC))
	want.State, want.Detail, want.BytesIn = audit.StateFinal, "Zoë <&> \x00", 1<<53+1
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := dynamo.FromStream(map[string]events.DynamoDBAttributeValue{
		"pk": events.NewStringAttribute("T#acme#2026-11-30#3"), "exp": events.NewNumberAttribute("1"), "record": events.NewStringAttribute(string(text)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestFromStreamRefusesOtherImages(t *testing.T) {
	for name, image := range map[string]map[string]events.DynamoDBAttributeValue{
		"none":        nil,
		"no record":   {"pk": events.NewStringAttribute("x")},
		"number":      {"record": events.NewNumberAttribute("1")},
		"null":        {"record": events.NewNullAttribute()},
		"binary":      {"record": events.NewBinaryAttribute([]byte("{}"))},
		"empty":       {"record": events.NewStringAttribute("")},
		"not JSON":    {"record": events.NewStringAttribute("{")},
		"wrong types": {"record": events.NewStringAttribute(`{"call_id":7}`)},
	} {
		if r, err := dynamo.FromStream(image); err == nil {
			t.Errorf("%s: got %+v, want an error", name, r)
		}
	}
}

func FuzzFromStream(f *testing.F) {
	f.Add(`{"state":"final","call_id":"01K","tenant":"acme","time":"2026-11-30T12:00:00Z"}`)
	f.Add(`{"reasons":["a"],"secrets":[{"ref":"x"}],"duration_ms":1e3}`)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := dynamo.FromStream(map[string]events.DynamoDBAttributeValue{"record": events.NewStringAttribute(text)})
		if err != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			return // a time outside the years that JSON can say
		}
		back, err := dynamo.FromStream(map[string]events.DynamoDBAttributeValue{"record": events.NewStringAttribute(string(again))})
		if err != nil {
			t.Fatalf("%s: what was read cannot be read again: %v", again, err)
		}
		if third, err := json.Marshal(back); err != nil || string(third) != string(again) {
			t.Errorf("got %s and %v, want %s", third, err, again)
		}
	})
}
