// SPDX-License-Identifier: Apache-2.0

// otel-peer is the other end of traces: OpenTelemetry's own code in Go.
//
//	otel-peer collect PORT           the OTLP receiver of the collector, alone: it listens on 127.0.0.1:PORT for OTLP over HTTP, and prints each
//	                                 batch as one line of JSON, written by the collector's marshaler; what it cannot read it answers with 400
//	otel-peer drive SOCKET           a CSI driver on grpc-go that creates volumes and knows nothing of traces
//	otel-peer drive-traced SOCKET    the same with otelgrpc, which prints a line "NAME TRACE PARENT" for each span of a server
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var err error
	switch os.Args[1] {
	case "collect":
		err = collect(ctx, os.Args[2])
	case "drive":
		err = drive(ctx, os.Args[2])
	case "drive-traced":
		provider := trace.NewTracerProvider(trace.WithSyncer(printer{}))
		handler := otelgrpc.NewServerHandler(
			otelgrpc.WithTracerProvider(provider), otelgrpc.WithPropagators(propagation.TraceContext{}))
		err = drive(ctx, os.Args[2], grpc.StatsHandler(handler))
	default:
		err = fmt.Errorf("unknown command %q", os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func collect(ctx context.Context, port string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = "127.0.0.1:" + port
	settings := receiver.Settings{
		ID:                component.NewID(factory.Type()),
		TelemetrySettings: componenttest.NewNopTelemetrySettings(),
		BuildInfo:         component.NewDefaultBuildInfo(),
	}
	var mutex sync.Mutex
	marshaler := ptrace.JSONMarshaler{}
	sink, err := consumer.NewTraces(func(_ context.Context, traces ptrace.Traces) error {
		text, err := marshaler.MarshalTraces(traces)
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Println(string(text))
		return nil
	})
	if err != nil {
		return err
	}
	started, err := factory.CreateTraces(ctx, settings, config, sink)
	if err != nil {
		return err
	}
	if err := started.Start(ctx, componenttest.NewNopHost()); err != nil {
		return err
	}
	fmt.Println("listening")
	<-ctx.Done()
	return started.Shutdown(context.Background())
}

type printer struct{}

func (printer) ExportSpans(_ context.Context, spans []trace.ReadOnlySpan) error {
	for _, span := range spans {
		fmt.Println(span.Name(), span.SpanContext().TraceID(), span.Parent().SpanID())
	}
	return nil
}

func (printer) Shutdown(context.Context) error { return nil }

type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
}

func drive(ctx context.Context, socket string, options ...grpc.ServerOption) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(options...)
	csi.RegisterIdentityServer(server, driver{})
	csi.RegisterControllerServer(server, driver{})
	go func() {
		<-ctx.Done()
		server.Stop()
	}()
	fmt.Println("listening")
	return server.Serve(listener)
}

func (driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "otel.example.com", VendorVersion: "v1"}, nil
}

func (driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	service := &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}
	capability := &csi.PluginCapability{Type: &csi.PluginCapability_Service_{Service: service}}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{capability}}, nil
}

func (driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	rpc := &csi.ControllerServiceCapability_RPC{Type: csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	capability := &csi.ControllerServiceCapability{Type: &csi.ControllerServiceCapability_Rpc{Rpc: rpc}}
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{capability}}, nil
}

func (driver) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	volume := &csi.Volume{VolumeId: request.GetName(), CapacityBytes: request.GetCapacityRange().GetRequiredBytes()}
	return &csi.CreateVolumeResponse{Volume: volume}, nil
}

func (driver) DeleteVolume(context.Context, *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return &csi.DeleteVolumeResponse{}, nil
}
