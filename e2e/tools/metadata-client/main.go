// SPDX-License-Identifier: Apache-2.0

// metadata-client is backup software made of upstream's own client: its iterator finds the service of a driver, gets a token and reads the
// blocks, and its verifier copies them from one file into another and compares both.
//
//	metadata-client -kubeconfig FILE -namespace NAMESPACE -account NAME -snapshot NAME [-previous NAME] -source FILE -target FILE
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/kubernetes-csi/external-snapshot-metadata/pkg/iterator"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var args iterator.Args
	kubeconfig := flag.String("kubeconfig", "", "of the caller")
	source := flag.String("source", "", "what the snapshot holds")
	target := flag.String("target", "", "what the previous snapshot holds; the blocks are copied into it")
	maxResults := flag.Int("max-results", 0, "blocks of a message")
	flag.StringVar(&args.Namespace, "namespace", "", "of the snapshots and the account")
	flag.StringVar(&args.SAName, "account", "", "whose token is used")
	flag.StringVar(&args.SnapshotName, "snapshot", "", "the snapshot")
	flag.StringVar(&args.PrevSnapshotName, "previous", "", "the snapshot to compare with")
	flag.Parse()
	args.SANamespace = args.Namespace
	args.MaxResults = int32(*maxResults)

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	if args.Clients, err = iterator.BuildClients(config); err != nil {
		return err
	}
	from, err := os.Open(*source)
	if err != nil {
		return err
	}
	defer from.Close()
	into, err := os.OpenFile(*target, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer into.Close()
	args.Emitter = &iterator.VerifierEmitter{SourceDevice: from, TargetDevice: into}
	return iterator.GetSnapshotMetadata(context.Background(), args)
}
