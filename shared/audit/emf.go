package audit

import (
	"bytes"
	"encoding/json"
	"io"

	"mcprelay/shared/call"
)

// Namespace is the CloudWatch namespace of the relay's metrics.
const Namespace = "mcprelay"

// Publish writes what an audit trail's reader sees of r, in one write: the
// canonical line and, for a final, a line of embedded metrics (CloudWatch
// embedded metric format). An intent has no outcome yet, so it is not counted.
// A record that is published twice gives the same bytes.
func Publish(w io.Writer, r Record) error {
	var out bytes.Buffer
	if err := NewLog(&out, 0).Record(&r); err != nil {
		return err
	}
	if r.State == StateFinal {
		if err := json.NewEncoder(&out).Encode(metrics(r)); err != nil {
			return err
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// embedded is one line of embedded metrics. The only dimension is the outcome,
// of which there are six: every further value of a dimension is a metric that
// is paid for. What tells calls apart is a property, which is free.
type embedded struct {
	AWS        directive      `json:"_aws"`
	Outcome    call.Outcome   `json:"outcome"`
	Calls      int            `json:"calls"`
	DurationMS float64        `json:"duration_ms"`
	BytesOut   int64          `json:"bytes_out"`
	BytesIn    int64          `json:"bytes_in"`
	CallID     string         `json:"call_id"`
	Tenant     string         `json:"tenant"`
	Server     string         `json:"server"`
	Tool       string         `json:"tool"`
	Operation  call.Operation `json:"operation"`
	Reason     call.Reason    `json:"reason"`
}

type directive struct {
	Timestamp int64        `json:"Timestamp"` // of the call, in milliseconds
	Metrics   [1]metricSet `json:"CloudWatchMetrics"`
}

type metricSet struct {
	Namespace  string       `json:"Namespace"`
	Dimensions [1][1]string `json:"Dimensions"`
	Metrics    [4]metric    `json:"Metrics"`
}

type metric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

func metrics(r Record) embedded {
	set := metricSet{
		Namespace:  Namespace,
		Dimensions: [1][1]string{{"outcome"}},
		Metrics:    [4]metric{{"calls", "Count"}, {"duration_ms", "Milliseconds"}, {"bytes_out", "Bytes"}, {"bytes_in", "Bytes"}},
	}
	return embedded{
		AWS:     directive{Timestamp: r.Time.UnixMilli(), Metrics: [1]metricSet{set}},
		Outcome: bounded(r.Outcome), Calls: 1,
		DurationMS: r.DurationMS, BytesOut: r.BytesOut, BytesIn: r.BytesIn,
		CallID: r.CallID, Tenant: r.Tenant, Server: r.Server, Tool: r.Tool, Operation: r.Operation, Reason: r.Reason,
	}
}

// bounded keeps the dimension to its closed set, whatever an item holds.
func bounded(o call.Outcome) call.Outcome {
	switch o {
	case call.Answered, call.RefusedByPolicy, call.RefusedByAddress, call.Redirected, call.NoAnswer, call.Rejected:
		return o
	}
	return "other"
}
