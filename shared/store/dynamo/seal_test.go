package dynamo_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Values of secrets that are long enough to be keys.
var (
	newest = strings.Repeat("n", 64)
	before = strings.Repeat("b", 32)
)

// stages answers with the version of a stage; one that is empty is not there.
func stages(newest, before string) answer {
	return func(w http.ResponseWriter, r request) {
		value := map[string]string{"AWSCURRENT": newest, "AWSPREVIOUS": before}[r.VersionStage]
		if value == "" {
			fails(http.StatusBadRequest, "ResourceNotFoundException")(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"VersionId":"v","SecretString":%q}`, value)
	}
}

func digestOf(value string) []byte {
	sum := sha256.Sum256([]byte(value))
	return sum[:]
}

func TestTheCurrentVersionSealsAndTheOneBeforeOpens(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer answer
		want   [][]byte
	}{
		{"never rotated", stages(newest, ""), [][]byte{digestOf(newest)}},
		{"rotated", stages(newest, before), [][]byte{digestOf(newest), digestOf(before)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFake(t, test.answer)
			keys, err := newStore(f.url, nil).SealKeys(t.Context(), "seal-x")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, keys); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			for _, r := range f.asked() {
				if r.Operation != "GetSecretValue" || r.SecretId != "seal-x" {
					t.Errorf("asked %+v, want the value of seal-x", r)
				}
			}
		})
	}
}

func TestWithoutASecretThereAreNoSealingKeys(t *testing.T) {
	f := newFake(t, stages(newest, before))
	keys, err := newStore(f.url, nil).SealKeys(t.Context(), "")
	if keys != nil || err != nil || len(f.asked()) != 0 {
		t.Errorf("got %d keys, %v after %d requests, want none at all", len(keys), err, len(f.asked()))
	}
}

func TestASecretThatIsNoSealingKeyIsAnError(t *testing.T) {
	for name, a := range map[string]answer{
		"not there":    fails(http.StatusBadRequest, "ResourceNotFoundException"),
		"not allowed":  fails(http.StatusBadRequest, "AccessDeniedException"),
		"down":         fails(http.StatusServiceUnavailable, "ServiceUnavailable"),
		"short":        stages(newest[:31], ""),
		"short before": stages(newest, before[:31]),
		"the one before fails": func(w http.ResponseWriter, r request) {
			if r.VersionStage == "AWSPREVIOUS" {
				fails(http.StatusBadRequest, "AccessDeniedException")(w, r)
				return
			}
			stages(newest, "")(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := newStore(newFake(t, a).url, nil).SealKeys(t.Context(), "seal-x")
			if err == nil || keys != nil {
				t.Fatalf("got %d keys and %v, want an error", len(keys), err)
			}
			if strings.Contains(err.Error(), "nnn") || strings.Contains(err.Error(), "bbb") {
				t.Errorf("the error holds a value: %v", err)
			}
		})
	}
}
