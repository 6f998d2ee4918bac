// The manifests of snapshot-controller as its makers publish them. No code of ours is here: the go.mod pins their version.
module csi-sidecars.invalid/e2e/tools/snapshot-controller

go 1.26.0

require github.com/kubernetes-csi/external-snapshotter/v8 v8.7.0
