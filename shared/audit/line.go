package audit

import (
	"context"
	"log/slog"
	"time"
)

// Message is the msg of every canonical line.
const Message = "call"

// Log writes the canonical line of a record: one JSON object a call with
// fixed keys, which are the JSON names of [Record]'s fields. Optional keys are
// left out when empty. An intent line differs by its state only.
func Log(ctx context.Context, log *slog.Logger, r Record) {
	level := slog.LevelInfo
	if !log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 40)
	attrs = append(attrs,
		slog.String("state", string(r.State)),
		slog.String("call_id", r.CallID),
		slog.String("tenant", r.Tenant),
		slog.String("time", r.Time.UTC().Format(time.RFC3339Nano)),
		slog.String("agent", r.Agent),
		slog.String("server", r.Server),
		slog.String("tool", r.Tool),
		slog.String("about", r.About),
		slog.String("policy", string(r.Policy)),
		slog.String("rule", r.Rule),
		slog.String("decision", string(r.Decision)),
		slog.String("outcome", string(r.Outcome)),
		slog.String("reason", string(r.Reason)),
		slog.Float64("duration_ms", r.DurationMS),
	)
	attrs = append(attrs, texts(r)...)
	attrs = append(attrs, numbers(r)...)
	// The line's only time is the record's: a zero time leaves out the log's own.
	line := slog.NewRecord(time.Time{}, level, Message, 0)
	line.AddAttrs(attrs...)
	_ = log.Handler().Handle(ctx, line) // a log that cannot be written has nowhere to say so
}

func texts(r Record) []slog.Attr {
	attrs := make([]slog.Attr, 0, 20)
	for _, field := range [...]struct{ key, value string }{
		{"kind", string(r.Kind)}, {"key_id", r.KeyID}, {"face", string(r.Face)},
		{"operation", string(r.Operation)}, {"run", r.Run}, {"traceparent", r.Traceparent},
		{"tool_effect", string(r.ToolEffect)}, {"budget_class", r.BudgetClass}, {"stage", string(r.Stage)}, {"effect", string(r.Effect)},
		{"detail", r.Detail}, {"host", r.Host}, {"address", r.Address}, {"era", r.Era},
		{"protocol_version", r.ProtocolVersion}, {"session", r.Session}, {"location", r.Location}, {"challenge", r.Challenge},
		{"arguments_preview", r.ArgumentsPreview}, {"arguments_digest", r.ArgumentsDigest},
	} {
		if field.value != "" {
			attrs = append(attrs, slog.String(field.key, field.value))
		}
	}
	if len(r.Reasons) > 0 {
		attrs = append(attrs, slog.Any("reasons", r.Reasons))
	}
	if len(r.PolicyMetadata) > 0 {
		attrs = append(attrs, slog.Any("policy_metadata", r.PolicyMetadata))
	}
	if len(r.Secrets) > 0 {
		attrs = append(attrs, slog.Any("secrets", r.Secrets))
	}
	if r.SecretRenewed {
		attrs = append(attrs, slog.Bool("secret_renewed", true))
	}
	return attrs
}

func numbers(r Record) []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	for _, field := range [...]struct {
		key   string
		value int64
	}{
		{"arguments_bytes", int64(r.ArgumentsBytes)}, {"status", int64(r.Status)}, {"posts", int64(r.Posts)},
		{"server_requests", int64(r.ServerRequests)}, {"masked", int64(r.Masked)},
		{"bytes_out", r.BytesOut}, {"bytes_in", r.BytesIn}, {"rpc_code", r.RPCCode},
	} {
		if field.value != 0 {
			attrs = append(attrs, slog.Int64(field.key, field.value))
		}
	}
	return attrs
}
