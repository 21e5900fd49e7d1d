package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mcprelay/shared/app"
)

const (
	// sweepPause lies between two looks for upstream sessions that expired.
	sweepPause = time.Minute
	// sweepBudget bounds the last looks, when the relay stops.
	sweepBudget = 5 * time.Second
)

// sweeping closes expired upstream sessions until the returned function is
// called, which lets a look that is under way end, looks once more, and waits
// for the end of it: a session whose end was cut short would be ended twice.
func sweeping(ctx context.Context, a *app.App) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	var sweeps sync.WaitGroup
	sweeps.Go(func() {
		ticker := time.NewTicker(sweepPause)
		defer ticker.Stop()
		for {
			sweep(ctx, a)
			select {
			case <-stopped:
				sweep(ctx, a)
				return
			case <-ticker.C:
			}
		}
	})
	return func() {
		close(stopped)
		defer time.AfterFunc(sweepBudget, cancel).Stop()
		sweeps.Wait()
		cancel()
	}
}

// sweep is one look. Each session that it closes leaves a record.
func sweep(ctx context.Context, a *app.App) {
	if _, err := a.Relay().CloseExpired(ctx); err != nil && ctx.Err() == nil {
		a.Log().LogAttrs(ctx, slog.LevelError, "the expired sessions could not be read", slog.String("error", err.Error()))
	}
}
