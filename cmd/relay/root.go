package main

import (
	"github.com/spf13/cobra"

	"mcprelay/shared/app"
)

// usageError is a mistake in the command line itself.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// flags mean the same on every local subcommand.
type flags struct {
	config   string
	data     string
	loopback bool
}

func (f *flags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.config, "config", "", "the config `file` (JSON)")
	c.Flags().StringVar(&f.data, "data", "relay-data", "the `folder` of the local store")
	c.Flags().BoolVar(&f.loopback, "allow-loopback", false, "make endpoints that are spelled as loopback legal")
}

func root() *cobra.Command {
	command := &cobra.Command{
		Use:           "relay",
		Short:         "A relay between agent runtimes and MCP servers",
		Version:       app.Version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	command.SetFlagErrorFunc(usage)
	command.AddCommand(serveCommand(), callCommand(), auditCommand(), serversCommand(), tokensCommand(), simulateCommand(), policiesCommand(), connectCommand())
	argumentsAsUsage(command)
	return command
}

// argumentsAsUsage makes a wrong number of arguments a usage error, of every
// subcommand too.
func argumentsAsUsage(c *cobra.Command) {
	c.Args = asUsage(c.Args)
	for _, sub := range c.Commands() {
		argumentsAsUsage(sub)
	}
}

func usage(_ *cobra.Command, err error) error { return &usageError{err} }

// asUsage makes a wrong number of arguments a usage error.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}
