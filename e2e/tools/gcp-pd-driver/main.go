// SPDX-License-Identifier: Apache-2.0

// gcp-pd-driver is the controller of the GCE PD CSI driver, with the fake cloud of the driver's own tree in place of Google's. It takes
// the driver's own arguments, and
//
//	--drivername NAME             in place of pd.csi.storage.gke.io
//	--instances ZONE/NAME,...     the virtual machines of the cloud
//	--operations-take DURATION    how long the cloud creates, attaches and detaches a disk
//	--calls FILE                  a line of JSON when a call begins, and one when it ends
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/GoogleCloudPlatform/k8s-cloud-provider/pkg/cloud/meta"
	"github.com/container-storage-interface/spec/lib/go/csi"
	compute "google.golang.org/api/compute/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"k8s.io/klog/v2"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/common"
	gce "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-cloud-provider/compute"
	driver "sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/gce-pd-csi-driver"
	"sigs.k8s.io/gcp-compute-persistent-disk-csi-driver/pkg/parameters"
)

const (
	project = "test-project"
	// The fake cloud has this zone and country-region-fakesecondzone.
	zone = "country-region-zone"
)

// Arguments of the driver that it has from its manifest. Those with _ concern a node service, or a cluster with several tenants.
var (
	endpoint        = flag.String("endpoint", "", "unix:PATH")
	iopsTypes       = flag.String("supports-dynamic-iops-provisioning", "", "disk types")
	throughputTypes = flag.String("supports-dynamic-throughput-provisioning", "", "disk types")
	dataCache       = flag.Bool("enable-data-cache", false, "")
	listByInstances = flag.Bool("use-instance-api-to-list-volumes-published-nodes", false, "")
	_               = flag.Bool("run-node-service", true, "")
	_               = flag.Bool("enable-multitenancy", false, "")

	driverName     = flag.String("drivername", "pd.csi.storage.gke.io", "")
	instances      = flag.String("instances", "", "ZONE/NAME,...")
	operationsTake = flag.Duration("operations-take", 0, "")
	callsFile      = flag.String("calls", "", "")
)

func main() {
	klog.InitFlags(nil)
	flag.Parse()
	if err := serve(); err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	calls, err := os.OpenFile(*callsFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	busy := &sync.Mutex{}
	cloud, err := newCloud(busy)
	if err != nil {
		return err
	}
	pd := driver.GetGCEDriver()
	identity := driver.NewIdentityServer(pd)
	controller := driver.NewControllerServer(pd, cloud, 200*time.Millisecond, 5*time.Minute, nil, false, *dataCache,
		driver.MultiZoneVolumeHandleConfig{},
		driver.ListVolumesConfig{UseInstancesAPIForPublishedNodes: *listByInstances},
		driver.ProvisionableDisksConfig{
			SupportsIopsChange:       strings.Split(*iopsTypes, ","),
			SupportsThroughputChange: strings.Split(*throughputTypes, ","),
		}, false, &driver.GCEControllerServerArgs{})
	if err := pd.SetupGCEDriver(*driverName, "v1.28.1", nil, nil, identity, controller, nil); err != nil {
		return err
	}

	path := strings.TrimPrefix(*endpoint, "unix:")
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	journal := &journal{out: json.NewEncoder(calls)}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(journal.record, oneAtATime(busy)))
	csi.RegisterIdentityServer(server, identity)
	csi.RegisterControllerServer(server, controller)
	return server.Serve(listener)
}

// slowCloud is not busy while an operation takes its time: the driver then answers other calls, and refuses those for the same disk.
type slowCloud struct {
	*gce.FakeCloudProvider
	busy *sync.Mutex
}

func newCloud(busy *sync.Mutex) (*slowCloud, error) {
	fake, err := gce.CreateFakeCloudProvider(project, zone, nil)
	if err != nil {
		return nil, err
	}
	for _, entry := range strings.Split(*instances, ",") {
		in, name, found := strings.Cut(entry, "/")
		if !found {
			continue
		}
		link := fmt.Sprintf("%sprojects/%s/zones/%s/instances/%s", gce.BasePath, project, in, name)
		fake.InsertInstance(&compute.Instance{Name: name, SelfLink: link}, in, name)
	}
	return &slowCloud{fake, busy}, nil
}

func (cloud *slowCloud) InsertDisk(ctx context.Context, project string, key *meta.Key, params parameters.DiskParameters, capBytes int64,
	capacityRange *csi.CapacityRange, replicaZones []string, snapshotID string, sourceVolumeID string, multiWriter bool, accessMode string) error {
	cloud.operate()
	return cloud.FakeCloudProvider.InsertDisk(ctx, project, key, params, capBytes, capacityRange, replicaZones, snapshotID,
		sourceVolumeID, multiWriter, accessMode)
}

func (cloud *slowCloud) AttachDisk(ctx context.Context, project string, key *meta.Key, readWrite, diskType, instanceZone,
	instanceName string, forceAttach bool) error {
	cloud.operate()
	if err := cloud.FakeCloudProvider.AttachDisk(ctx, project, key, readWrite, diskType, instanceZone, instanceName, forceAttach); err != nil {
		return err
	}
	instance, err := cloud.GetInstanceOrError(ctx, project, instanceZone, instanceName)
	if err != nil {
		return err
	}
	// The fake attaches a regional disk under a name under which the driver does not look for it.
	instance.Disks[len(instance.Disks)-1].DeviceName, err = common.GetDeviceName(key)
	return err
}

func (cloud *slowCloud) DetachDisk(ctx context.Context, project, deviceName, instanceZone, instanceName string) error {
	cloud.operate()
	return cloud.FakeCloudProvider.DetachDisk(ctx, project, deviceName, instanceZone, instanceName)
}

func (cloud *slowCloud) operate() {
	cloud.busy.Unlock()
	time.Sleep(*operationsTake)
	cloud.busy.Lock()
}

// oneAtATime guards the maps of the fake cloud, which has no locks.
func oneAtATime(busy *sync.Mutex) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		busy.Lock()
		defer busy.Unlock()
		return handler(ctx, request)
	}
}

// journal writes what packages/test-driver writes, so that the suite reads both.
type journal struct {
	lock sync.Mutex
	out  *json.Encoder
	seq  int
}

type line struct {
	Kind    string          `json:"kind"`
	Seq     int             `json:"seq"`
	At      time.Time       `json:"at"`
	Method  string          `json:"method,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Peer    string          `json:"peer,omitempty"`
	NodeID  string          `json:"nodeId,omitempty"`
	Outcome *outcome        `json:"outcome,omitempty"`
}

type outcome struct {
	Kind     string          `json:"kind"`
	Response json.RawMessage `json:"response,omitempty"`
	Code     string          `json:"code,omitempty"`
	Message  string          `json:"message,omitempty"`
}

func (j *journal) record(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	j.lock.Lock()
	j.seq++
	seq := j.seq
	j.lock.Unlock()
	j.write(line{Kind: "begin", Seq: seq, Method: info.FullMethod, Request: plain(request)})
	response, err := handler(ctx, request)
	end := &outcome{Kind: "answered"}
	if err == nil {
		end.Response = plain(response)
	} else {
		refusal, _ := status.FromError(err)
		end = &outcome{Kind: "refused", Code: refusal.Code().String(), Message: refusal.Message()}
	}
	j.write(line{Kind: "end", Seq: seq, Outcome: end})
	return response, err
}

func (j *journal) write(entry line) {
	j.lock.Lock()
	defer j.lock.Unlock()
	entry.At = time.Now()
	if err := j.out.Encode(entry); err != nil {
		log.Fatal(err)
	}
}

func plain(message any) json.RawMessage {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(message.(proto.Message))
	if err != nil {
		log.Fatal(err)
	}
	return text
}
