// SPDX-License-Identifier: Apache-2.0

// Command oracle runs Go's flag and pflag packages over the argument lists of cases.txt and prints what they make of
// them, and how Go shows flags and durations: the expectations of flags/go-conformance.test.ts. Regenerate with: go run . > expected.json
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

type labels map[string]string

func (l labels) String() string { return "" }
func (l labels) Set(s string) error {
	for _, item := range strings.Split(s, ",") {
		pair := strings.Split(item, ":")
		if len(pair) != 2 {
			return fmt.Errorf("malformed item in list of labels: %s", item)
		}
		l[pair[0]] = pair[1]
	}
	return nil
}

type level int

func (l *level) String() string { return strconv.Itoa(int(*l)) }
func (l *level) Type() string   { return "Level" }
func (l *level) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return err
	}
	*l = level(n)
	return nil
}

type values struct {
	name    string
	on      bool
	off     bool
	count   int
	threads uint
	qps     float64
	wait    time.Duration
	labels  labels
	v       level
	auto    string
}

type result struct {
	Syntax string         `json:"syntax"`
	Args   []string       `json:"args"`
	Error  string         `json:"error,omitempty"`
	Help   bool           `json:"help,omitempty"`
	Values map[string]any `json:"values,omitempty"`
	Given  []string       `json:"given,omitempty"`
	Rest   []string       `json:"rest,omitempty"`
}

func register(fs *flag.FlagSet, v *values) {
	fs.StringVar(&v.name, "name", "nobody", "A name.")
	fs.BoolVar(&v.on, "on", true, "On by default.")
	fs.BoolVar(&v.off, "off", false, "Off by default.")
	fs.IntVar(&v.count, "count", -1, "An int.")
	fs.UintVar(&v.threads, "threads", 10, "A uint.")
	fs.Float64Var(&v.qps, "qps", 5, "A float.")
	fs.DurationVar(&v.wait, "wait", 90*time.Second, "A duration.")
	fs.Var(v.labels, "labels", "A list.")
	fs.Var(&v.v, "v", "number for the log level verbosity")
	fs.BoolFunc("auto", "A boolean function.", func(s string) error {
		if s != "" {
			if _, err := strconv.ParseBool(s); err != nil {
				return err
			}
		}
		v.auto = s
		return nil
	})
}

func run(syntax string, args []string) result {
	v := &values{labels: labels{}}
	fs := flag.NewFlagSet("program", flag.ContinueOnError)
	fs.SetOutput(&bytes.Buffer{})
	register(fs, v)
	var err error
	var rest []string
	given := []string{}
	if syntax == "go" {
		err = fs.Parse(args)
		rest = fs.Args()
		fs.Visit(func(f *flag.Flag) { given = append(given, f.Name) })
	} else {
		ps := pflag.NewFlagSet("program", pflag.ContinueOnError)
		ps.SetOutput(&bytes.Buffer{})
		ps.AddGoFlagSet(fs)
		err = ps.Parse(args)
		rest = ps.Args()
		ps.Visit(func(f *pflag.Flag) { given = append(given, f.Name) })
	}
	r := result{Syntax: syntax, Args: args}
	if err == flag.ErrHelp || err == pflag.ErrHelp {
		r.Help = true
		return r
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	qps := any(v.qps)
	if math.IsInf(v.qps, 0) || math.IsNaN(v.qps) {
		qps = fmt.Sprint(v.qps)
	}
	r.Values = map[string]any{
		"name": v.name, "on": v.on, "off": v.off, "count": fmt.Sprint(v.count), "threads": fmt.Sprint(v.threads),
		"qps": qps, "waitNs": fmt.Sprint(v.wait.Nanoseconds()), "labels": v.labels, "v": int(v.v),
	}
	r.Given = given
	r.Rest = rest
	return r
}

func main() {
	input, err := os.ReadFile("cases.txt")
	if err != nil {
		panic(err)
	}
	var results []result
	for _, line := range strings.Split(strings.TrimRight(string(input), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		args := []string{}
		if line != "" {
			if err := json.Unmarshal([]byte(line), &args); err != nil {
				panic(line)
			}
		}
		results = append(results, run("go", args), run("pflag", args))
	}
	var usage bytes.Buffer
	fs := flag.NewFlagSet("program", flag.ContinueOnError)
	fs.SetOutput(&usage)
	register(fs, &values{labels: labels{}})
	fs.Usage()
	durations := map[string]string{}
	for _, ns := range []time.Duration{
		0, 1, 999, 1_000, 1_500, 999_999, 1_000_000, 1_500_000, 999_999_999, 1e9, 1_000_000_001, 59_999_999_999, 60e9, 61_100_000_000, 3599e9,
		3600e9, 3_600_100_000_000, 3_661_000_000_001, 86_400e9, 6_000_000_100_000_000, -1, -1_500_000, -90e9,
	} {
		durations[strconv.FormatInt(int64(ns), 10)] = ns.String()
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"results": results, "usage": usage.String(), "durations": durations}); err != nil {
		panic(err)
	}
}
