// SPDX-License-Identifier: Apache-2.0
/** The chart csi-driver with what must be set, our images from a registry, and values over it. */
import { join } from 'node:path';
import { chartsFolder, notes, refusalOf, render, type RenderOptions } from '../../testing/helm.ts';
import type { Manifest } from '../../testing/manifest.ts';

export const chart = 'csi-driver';
/** What must be set, and nothing else. */
export const minimalFile: string = join(chartsFolder, chart, 'ci', 'minimal.yaml');
export const driverName = 'minimal.csi.example.com';

/** What a cluster with everything serves beyond Helm's own list. */
export const everyApi: readonly string[] = [
  'snapshot.storage.k8s.io/v1',
  'groupsnapshot.storage.k8s.io/v1',
  'storage.k8s.io/v1/VolumeAttributesClass',
  'monitoring.coreos.com/v1/ServiceMonitor',
  'monitoring.coreos.com/v1/PodMonitor',
  'monitoring.coreos.com/v1/PrometheusRule',
];

export const upstream = { sidecars: { image: { registry: 'registry.k8s.io/sig-storage' } } } as const;
export const distributed = {
  mode: 'distributed',
  csiDriver: { attachRequired: false },
  features: { attach: false, resize: false },
} as const;

type Cluster = Partial<Omit<RenderOptions, 'chart' | 'files' | 'values'>>;

const optionsOf = (values: object, cluster: Cluster): RenderOptions => ({
  chart,
  files: [minimalFile, join(chartsFolder, chart, 'tests', 'our-images.yaml')],
  values,
  ...cluster,
});

export async function renderWith(values: object = {}, cluster: Cluster = {}): Promise<readonly Manifest[]> {
  return render(optionsOf(values, cluster));
}

export async function refusalWith(values: object, cluster: Cluster = {}): Promise<string> {
  return refusalOf(optionsOf(values, cluster));
}

export async function notesWith(values: object = {}, cluster: Cluster = {}): Promise<string> {
  return notes(optionsOf(values, cluster));
}
