// The definitions of the snapshot API as their makers publish them. No code of ours is here: the go.mod pins the version that ours are
// compared with.
module csi-sidecars.invalid/e2e/tools/snapshot-client

go 1.26.0

require github.com/kubernetes-csi/external-snapshotter/client/v8 v8.6.0
