// SPDX-License-Identifier: Apache-2.0
/** The installation with the programs that few clusters have: the health monitor, csi-snapshot-metadata and the validator, as they are meant to be installed. */
import { clusterRules as validator } from '@csi-sidecars/data-source-validator';
import { clusterRules as healthMonitor } from '@csi-sidecars/health-monitor';
import { type KubeObject, leaseRules, type PolicyRule, type Transport } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { clusterRules as snapshotMetadata } from '@csi-sidecars/snapshot-metadata';
import { add, driver, pod } from './cluster.ts';
import { type Container, controller, driverContainer, programs, ready, sidecar } from './workloads.ts';
import { bindingOf, clusterRole, crd, leaseOf, roleIn } from './installation.ts';

/** The metrics of an API server with the gate CSIVolumeHealth on or off; undefined: it has no such gate. */
export function withHealthGate(shown: 0 | 1 | undefined): (transport: Transport) => Transport {
  const lines = ['# TYPE kubernetes_feature_enabled gauge', 'kubernetes_feature_enabled{name="Other",stage="BETA"} 1'];
  const own = shown === undefined ? [] : [`kubernetes_feature_enabled{name="CSIVolumeHealth",stage="ALPHA"} ${shown}`];
  return (transport) => async (request) =>
    request.path === '/metrics'
      ? { status: 200, headers: { 'content-type': 'text/plain' }, body: once([...lines, ...own, ''].join('\n')) }
      : await transport(request);
}

async function* once(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** The controllers of the driver, with one more beside them. */
export const controllersWith = (container: Container): KubeObject =>
  controller({ containers: [driverContainer, ...programs.map((each) => sidecar(each)), container] });

const healthMonitorName = 'csi-external-health-monitor-controller';
export const healthMonitorRules: readonly PolicyRule[] = healthMonitor;
export const healthMonitorRole = (rules: readonly PolicyRule[]): KubeObject =>
  clusterRole('health-monitor-role', rules);

/** The health monitor beside the other controllers of the driver. */
export function addHealthMonitor(host: FakeHost, changes: Partial<Container> = {}): void {
  add(
    host,
    healthMonitorRole(healthMonitor),
    bindingOf('health-monitor-role'),
    controllersWith(sidecar(healthMonitorName, [], changes)),
    leaseOf(host, healthMonitorName),
  );
}

export const snapshotMetadataRules: readonly PolicyRule[] = snapshotMetadata;
export const snapshotMetadataRole = (rules: readonly PolicyRule[]): KubeObject =>
  clusterRole('snapshot-metadata-role', rules);

/** csi-snapshot-metadata beside the other controllers of the driver, without a SnapshotMetadataService. */
export function addSnapshotMetadata(
  host: FakeHost,
  args: readonly string[] = [],
  changes: Partial<Container> = {},
): void {
  const own = { args: ['--csi-address=/csi/csi.sock', ...args], ...changes };
  add(
    host,
    snapshotMetadataRole(snapshotMetadata),
    bindingOf('snapshot-metadata-role'),
    controllersWith(sidecar('csi-snapshot-metadata', [], own)),
  );
}

export function metadataService(spec: object, name: string = driver): KubeObject {
  const apiVersion = 'cbt.storage.k8s.io/v1beta1';
  return { apiVersion, kind: 'SnapshotMetadataService', metadata: { name }, spec } as KubeObject;
}

export const populatorCrd = (): KubeObject => {
  const versions = [{ name: 'v1beta1', served: true, storage: true }];
  const fields = { spec: { versions }, status: { storedVersions: ['v1beta1'] } };
  return crd('volumepopulators', fields, 'populator.storage.k8s.io');
};

export const validatorRules: readonly PolicyRule[] = validator;
export const validatorRole = (rules: readonly PolicyRule[]): KubeObject => clusterRole('validator-role', rules);

/** The validator by itself, with the definition of populators. */
export function addValidator(host: FakeHost): void {
  const container = sidecar('volume-data-source-validator', [], { args: ['--leader-election'], volumeMounts: [] });
  add(
    host,
    populatorCrd(),
    validatorRole(validator),
    bindingOf('validator-role', 'validators'),
    ...roleIn({ namespace: 'storage', name: 'validator-leases', account: 'validators' }, leaseRules),
    controller({
      name: 'validator',
      containers: [container],
      volumes: [],
      podSpec: { serviceAccountName: 'validators' },
    }),
    pod('validator-6f-z', { metadata: { namespace: 'storage' }, spec: { containers: [container] }, status: ready }),
    leaseOf(host, 'volume-data-source-validator'),
  );
}
