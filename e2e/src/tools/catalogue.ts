// SPDX-License-Identifier: Apache-2.0
/**
 * The foreign programs that the suite runs, and where each comes from: one Go module per family under `e2e/tools/`,
 * because their dependency graphs disagree. Versions are read from those modules, so a go.mod is the only pin.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs that are all of their family. */
type Single =
  | 'containerd'
  | 'csi-sanity'
  | 'etcd'
  | 'gcp-pd-driver'
  | 'grpc-peer'
  | 'h2spec'
  | 'helm'
  | 'kind'
  | 'kubeconform'
  | 'metadata-client'
  | 'otel-peer'
  | 'promtool';

export type ToolName =
  | Single
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kubelet'
  | 'e2e.test'
  | 'ginkgo'
  | 'agnhost'
  | 'containerd-shim-runc-v2'
  | 'ctr';

export interface Family {
  readonly name: Single | 'kubernetes' | 'kubernetes-previous' | 'kubernetes-oldest';
  /** The required module whose version is the version of the family's programs. */
  readonly module: string;
  /** Linker flags that make the programs report that version; without them kube-apiserver calls itself v0.0.0-master. */
  ldflags(version: string): string;
  /** Build tags, for what a program can do without. */
  readonly tags?: readonly string[];
  /** Go files of ours in the module's folder. */
  readonly sources?: readonly string[];
}

export interface Tool {
  readonly name: ToolName;
  readonly family: Family;
  readonly package: string;
  /** Part of the bundles that `KUBEBUILDER_ASSETS` points to. */
  readonly inKubebuilderAssets: boolean;
  /** Default: a program. The tests of a package are a program as well, made by another command. */
  readonly form?: 'tests';
}

export const toolsFolder: string = join(import.meta.dirname, '..', '..', 'tools');

const strip = '-s -w';

const etcd: Family = { name: 'etcd', module: 'go.etcd.io/etcd/server/v3', ldflags: () => strip };
const csiSanity: Family = {
  name: 'csi-sanity',
  module: 'github.com/kubernetes-csi/csi-test/v5',
  ldflags: () => strip,
};
const h2spec: Family = { name: 'h2spec', module: 'github.com/summerwind/h2spec', ldflags: () => strip };
/** A program of ours, beside its go.mod. */
const grpcPeer: Family = {
  name: 'grpc-peer',
  module: 'google.golang.org/grpc',
  ldflags: () => strip,
  sources: ['main.go'],
};
/** The same. */
const otelPeer: Family = {
  name: 'otel-peer',
  module: 'go.opentelemetry.io/collector/receiver/otlpreceiver',
  ldflags: () => strip,
  sources: ['main.go'],
};
/** The same. */
const metadataClient: Family = {
  name: 'metadata-client',
  module: 'github.com/kubernetes-csi/external-snapshot-metadata',
  ldflags: () => strip,
  sources: ['main.go'],
};
const helm: Family = {
  name: 'helm',
  module: 'helm.sh/helm/v4',
  ldflags: (version) => `${strip} -X helm.sh/helm/v4/internal/version.version=${version}`,
};
const kind: Family = { name: 'kind', module: 'sigs.k8s.io/kind', ldflags: () => strip };
const kubeconform: Family = { name: 'kubeconform', module: 'github.com/yannh/kubeconform', ldflags: () => strip };
/** The same; the module also holds the manifests of the driver that it serves. */
export const gcpPdDriver: Family = {
  name: 'gcp-pd-driver',
  module: 'sigs.k8s.io/gcp-compute-persistent-disk-csi-driver',
  ldflags: () => strip,
  sources: ['main.go'],
};
const promtool: Family = {
  name: 'promtool',
  module: 'github.com/prometheus/prometheus',
  ldflags: (version) => `${strip} -X github.com/prometheus/common/version.Version=${version}`,
  // Service discovery, which rules do without: it needs the client libraries of two dozen clouds.
  tags: ['remove_all_sd'],
};
const kubernetes: Family = {
  name: 'kubernetes',
  module: 'k8s.io/kubernetes',
  ldflags: (version) => {
    const [major, minor] = version.slice(1).split('.');
    const stamps = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
    return [
      strip,
      ...Object.entries(stamps).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
    ].join(' ');
  },
};

/** The minor version before the one that the suite runs on, and the oldest that is supported. */
const olderKubernetes: Readonly<Record<Exclude<KubernetesRelease, 'current'>, Family>> = {
  previous: { ...kubernetes, name: 'kubernetes-previous' },
  oldest: { ...kubernetes, name: 'kubernetes-oldest' },
};

const containerd: Family = {
  name: 'containerd',
  module: 'github.com/containerd/containerd/v2',
  ldflags: (version) => `${strip} -X github.com/containerd/containerd/v2/version.Version=${version}`,
  // Snapshotters that need C libraries or tools of their own; overlayfs is what is used.
  tags: ['no_btrfs', 'no_zfs', 'no_devmapper'],
};

export const catalogue: Readonly<Record<ToolName, Tool>> = {
  etcd: { name: 'etcd', family: etcd, package: etcd.module, inKubebuilderAssets: true },
  'kube-apiserver': kubernetesTool('kube-apiserver', true),
  'kube-controller-manager': kubernetesTool('kube-controller-manager', false),
  'kube-scheduler': kubernetesTool('kube-scheduler', false),
  kubectl: kubernetesTool('kubectl', true),
  kubelet: kubernetesTool('kubelet', false),
  'e2e.test': {
    name: 'e2e.test',
    family: kubernetes,
    package: `${kubernetes.module}/test/e2e`,
    inKubebuilderAssets: false,
    form: 'tests',
  },
  // The one that its tests are written for.
  ginkgo: {
    name: 'ginkgo',
    family: kubernetes,
    package: 'github.com/onsi/ginkgo/v2/ginkgo',
    inKubebuilderAssets: false,
  },
  agnhost: {
    name: 'agnhost',
    family: kubernetes,
    package: `${kubernetes.module}/test/images/agnhost`,
    inKubebuilderAssets: false,
  },
  containerd: containerdTool('containerd'),
  'containerd-shim-runc-v2': containerdTool('containerd-shim-runc-v2'),
  ctr: containerdTool('ctr'),
  'csi-sanity': {
    name: 'csi-sanity',
    family: csiSanity,
    package: `${csiSanity.module}/cmd/csi-sanity`,
    inKubebuilderAssets: false,
  },
  h2spec: { name: 'h2spec', family: h2spec, package: `${h2spec.module}/cmd/h2spec`, inKubebuilderAssets: false },
  'grpc-peer': { name: 'grpc-peer', family: grpcPeer, package: '.', inKubebuilderAssets: false },
  'otel-peer': { name: 'otel-peer', family: otelPeer, package: '.', inKubebuilderAssets: false },
  'metadata-client': { name: 'metadata-client', family: metadataClient, package: '.', inKubebuilderAssets: false },
  helm: { name: 'helm', family: helm, package: `${helm.module}/cmd/helm`, inKubebuilderAssets: false },
  kind: { name: 'kind', family: kind, package: kind.module, inKubebuilderAssets: false },
  kubeconform: {
    name: 'kubeconform',
    family: kubeconform,
    package: `${kubeconform.module}/cmd/kubeconform`,
    inKubebuilderAssets: false,
  },
  promtool: {
    name: 'promtool',
    family: promtool,
    package: `${promtool.module}/cmd/promtool`,
    inKubebuilderAssets: false,
  },
  'gcp-pd-driver': { name: 'gcp-pd-driver', family: gcpPdDriver, package: '.', inKubebuilderAssets: false },
};

/** Which Kubernetes a control plane is made of. */
export const kubernetesReleases = ['current', 'previous', 'oldest'] as const;
export type KubernetesRelease = (typeof kubernetesReleases)[number];

export function toolOf(name: ToolName, release: KubernetesRelease): Tool {
  const tool = catalogue[name];
  return release !== 'current' && tool.family === kubernetes ? { ...tool, family: olderKubernetes[release] } : tool;
}

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(catalogue, name);
}

export function moduleFolder(family: Family): string {
  return join(toolsFolder, family.name);
}

/** The version that a family's go.mod requires, for example `v1.37.2`. */
export function versionOf(family: Family): string {
  const path = join(moduleFolder(family), 'go.mod');
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [module, version] = line
      .trim()
      .replace(/^require /, '')
      .split(' ');
    if (module === family.module && version?.startsWith('v') === true) return version;
  }
  throw new Error(`${path} does not require ${family.module}`);
}

function kubernetesTool(name: ToolName, inKubebuilderAssets: boolean): Tool {
  return { name, family: kubernetes, package: `${kubernetes.module}/cmd/${name}`, inKubebuilderAssets };
}

function containerdTool(name: ToolName): Tool {
  return { name, family: containerd, package: `${containerd.module}/cmd/${name}`, inKubebuilderAssets: false };
}
