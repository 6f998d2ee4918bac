// SPDX-License-Identifier: Apache-2.0
/** The health monitor, csi-snapshot-metadata and volume-data-source-validator: what is found of them, whole and broken. */
import { describe, expect, it } from 'vitest';
import type { PolicyRule } from '@csi-sidecars/runtime';
import type { FakeHost } from '@csi-sidecars/sidecar/testing';
import { clusterRules as snapshotControllerRules } from '@csi-sidecars/snapshot-controller';
import { add, boundClaim, driver } from '../../../testing/cluster.ts';
import {
  addHealthMonitor,
  addSnapshotMetadata,
  addValidator,
  controllersWith,
  healthMonitorRole,
  healthMonitorRules,
  metadataService,
  populatorCrd,
  snapshotMetadataRole,
  snapshotMetadataRules,
  validatorRole,
  validatorRules,
  withHealthGate,
} from '../../../testing/further-programs.ts';
import { sidecar } from '../../../testing/workloads.ts';
import {
  clusterRole,
  installation,
  leaseOf,
  ruleTables,
  snapshotControllerContainer,
  snapshotControllerSet,
} from '../../../testing/installation.ts';
import { type Case, doctor, ofVersion, seenIn, titleOf } from '../../../testing/examining.ts';
import { crds } from '../../cluster/kinds.ts';
import { authorities } from '../../../testing/authorities.ts';

const withoutResource = (rules: readonly PolicyRule[], resource: string): readonly PolicyRule[] =>
  rules.map((rule) => ({ ...rule, resources: rule.resources.filter((each) => each !== resource) }));

/** No role of the account of the controllers grants it: that of csi-resizer does too. */
function withoutStatus(host: FakeHost): void {
  const resource = 'persistentvolumeclaims/status';
  add(
    host,
    healthMonitorRole(withoutResource(healthMonitorRules, resource)),
    clusterRole('external-resizer-role', withoutResource(ruleTables.resizer, resource)),
  );
}

interface GateCase extends Case {
  readonly gate?: 0 | 1;
}

const monitorName = 'csi-external-health-monitor-controller';
const unhealthy = (name: string, status: string) =>
  boundClaim(name, {
    status: { phase: 'Bound', healthStatus: { healthConditions: [{ status, reason: 'Broken' }] } },
  });

const healthCases: readonly GateCase[] = [
  { given: 'the health monitor and an API server that keeps health', change: addHealthMonitor, gate: 1, found: [] },
  {
    given: 'the health monitor and an API server with the gate off',
    change: addHealthMonitor,
    gate: 0,
    found: ['warn health-1'],
    seen: ['0'],
  },
  {
    given: 'the health monitor and an API server that has no such gate',
    change: addHealthMonitor,
    found: [],
  },
  {
    given: 'the health monitor and Kubernetes 1.36',
    change: addHealthMonitor,
    gate: 1,
    version: 'v1.36.2',
    found: ['warn health-1'],
    seen: ['v1.36.2'],
  },
  {
    given: 'a health monitor of upstream that writes events only, and Kubernetes 1.36',
    change: (host) => addHealthMonitor(host, { image: `registry.k8s.io/sig-storage/${monitorName}:v0.18.0` }),
    version: 'v1.36.2',
    found: [],
  },
  { given: 'no health monitor, and the gate off', change: () => undefined, gate: 0, found: [] },
  {
    given: 'claims whose volumes are unhealthy',
    change: (host) => {
      addHealthMonitor(host);
      add(host, unhealthy('a', 'DataLoss'), unhealthy('b', 'Degraded'), boundClaim('c'));
    },
    gate: 1,
    found: ['warn health-2'],
    seen: ['DataLoss'],
  },
  {
    given: 'a health monitor that may not write the status of claims',
    change: (host) => {
      addHealthMonitor(host);
      withoutStatus(host);
    },
    gate: 1,
    args: ['--only=rights-13'],
    found: ['error rights-13'],
  },
  {
    given: 'an earlier health monitor of upstream, which does not write the status of claims',
    change: (host) => {
      addHealthMonitor(host, { image: `registry.k8s.io/sig-storage/${monitorName}:v0.18.0` });
      withoutStatus(host);
    },
    args: ['--only=rights-13'],
    found: [],
  },
  {
    given: 'a health monitor that has not renewed its Lease',
    change: (host) => {
      addHealthMonitor(host);
      add(host, leaseOf(host, monitorName, 600));
    },
    gate: 1,
    found: ['error lease-1'],
  },
  {
    given: 'two replicas with a health monitor that elects none of them',
    change: (host) => addHealthMonitor(host, { args: ['--csi-address=/csi/csi.sock'] }),
    args: ['--only=driver-9'],
    found: ['warn driver-9'],
  },
];

const pem = (name: keyof typeof authorities) => Buffer.from(authorities[name]).toString('base64');
const address = 'metadata.storage.svc:6443';
const fitting = { address, audience: driver, caCert: pem('valid') };
const slice = (isReady: boolean) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'metadata-1', namespace: 'storage', labels: { 'kubernetes.io/service-name': 'metadata' } },
  endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: isReady } }],
});
const ours = { image: 'registry.example.com/csi-sidecars/csi-snapshot-metadata:v0.1.0' };

const withService = (host: FakeHost, spec: object): void => add(host, metadataService(spec), slice(true));

const metadataCases: readonly Case[] = [
  {
    given: 'csi-snapshot-metadata and the service of its driver',
    change: (host) => {
      addSnapshotMetadata(host);
      withService(host, fitting);
    },
    found: [],
  },
  {
    given: 'csi-snapshot-metadata without a service of its driver',
    change: (host) => {
      addSnapshotMetadata(host);
      add(host, metadataService(fitting, 'other.example.com'), slice(true));
    },
    found: ['error meta-1'],
  },
  {
    given: 'csi-snapshot-metadata that knows its audience, without a service of its driver',
    change: (host) => addSnapshotMetadata(host, [`--audience=${driver}`], ours),
    found: ['warn meta-1'],
  },
  {
    given: 'a service with another audience than the flag',
    change: (host) => {
      addSnapshotMetadata(host, ['--audience=mine'], ours);
      withService(host, fitting);
    },
    found: ['error meta-2'],
    seen: ['mine', driver],
  },
  {
    given: "a service with another audience than the flag of upstream's program, which reads the service",
    change: (host) => {
      addSnapshotMetadata(host, ['--audience=mine']);
      withService(host, fitting);
    },
    found: [],
  },
  {
    given: 'a service without an audience',
    change: (host) => {
      addSnapshotMetadata(host);
      withService(host, { ...fitting, audience: '' });
    },
    found: ['error meta-2'],
  },
  {
    given: 'a service whose address leads to no pod that is ready',
    change: (host) => {
      addSnapshotMetadata(host);
      add(host, metadataService(fitting), slice(false));
    },
    found: ['error meta-3'],
    seen: [address, '0'],
  },
  {
    given: 'a service whose address is outside of the cluster',
    change: (host) => {
      addSnapshotMetadata(host);
      add(host, metadataService({ ...fitting, address: 'metadata.example:443' }));
    },
    found: [],
  },
  {
    given: 'a service whose authority has expired',
    change: (host) => {
      addSnapshotMetadata(host);
      withService(host, { ...fitting, caCert: pem('expired') });
    },
    found: ['error meta-4'],
  },
  {
    given: 'a service that is left, and no csi-snapshot-metadata',
    change: (host) => withService(host, fitting),
    found: ['warn meta-5'],
  },
  {
    given: "csi-snapshot-metadata with upstream's role, which may not read classes",
    change: (host) => {
      addSnapshotMetadata(host);
      withService(host, fitting);
      add(
        host,
        snapshotMetadataRole(
          withoutResource(snapshotMetadataRules, 'volumesnapshotclasses').filter(
            ({ resources }) => resources.length > 0,
          ),
        ),
      );
    },
    found: ['error rights-15'],
  },
  {
    given: 'ours with an audience, and a role without SnapshotMetadataServices',
    change: (host) => {
      addSnapshotMetadata(host, [`--audience=${driver}`], ours);
      withService(host, fitting);
      add(host, snapshotMetadataRole(withoutResource(snapshotMetadataRules, 'snapshotmetadataservices')));
    },
    found: [],
  },
];

const beside = (args: readonly string[] = []) =>
  snapshotControllerSet({ containers: [snapshotControllerContainer(['--enable-data-source-validator', ...args])] });

const validatorCases: readonly Case[] = [
  { given: 'the validator by itself', change: addValidator, found: [] },
  {
    given: 'the validator without the definition of populators',
    change: (host) => {
      addValidator(host);
      host.server.objects.remove(crds, { name: 'volumepopulators.populator.storage.k8s.io' });
    },
    found: ['warn pop-1'],
  },
  {
    given: 'the validator beside snapshot-controller without the definition of populators',
    change: (host) => add(host, beside()),
    args: ['--only=pop'],
    found: ['warn pop-1'],
  },
  {
    given: 'the validator by itself and beside snapshot-controller, in one election',
    change: (host) => {
      addValidator(host);
      add(host, beside());
    },
    args: ['--only=pop'],
    found: [],
  },
  {
    given: 'the validator by itself and beside snapshot-controller, in two elections',
    change: (host) => {
      addValidator(host);
      add(host, beside(['--leader-election-namespace=kube-system']));
    },
    args: ['--only=pop'],
    found: ['warn pop-2'],
  },
  {
    given: 'the validator beside snapshot-controller, whose account may not list populators',
    change: (host) => {
      const rules = withoutResource(snapshotControllerRules, 'volumepopulators');
      add(host, populatorCrd(), beside(), clusterRole('snapshot-controller-role', rules));
    },
    args: ['--only=rights'],
    found: ['error rights-14'],
  },
  {
    given: 'a validator that may not list claims',
    change: (host) => {
      addValidator(host);
      add(host, validatorRole(withoutResource(validatorRules, 'persistentvolumeclaims')));
    },
    found: ['error rights-14'],
  },
  {
    given: 'a validator that may not use its Lease',
    change: (host) => {
      addValidator(host);
      add(host, {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { namespace: 'storage', name: 'validator-leases' },
        rules: [],
      });
    },
    found: ['error rights-6'],
  },
  {
    given: 'a validator that has not renewed its Lease',
    change: (host) => {
      addValidator(host);
      add(host, leaseOf(host, 'volume-data-source-validator', 600));
    },
    found: ['error lease-1'],
  },
];

describe('doctor of the programs that few clusters have', () => {
  it.each(
    [...healthCases, ...metadataCases, ...validatorCases].map((each: GateCase) => [titleOf(each), each] as const),
  )('%s', async (_, { change, found, args, seen = [], version = 'v1.37.0', gate }) => {
    const intercept = (transport: Parameters<ReturnType<typeof ofVersion>>[0]) =>
      withHealthGate(gate)(ofVersion(version)(transport));
    const host = installation({ intercept });
    change(host);
    const { document, ...result } = await doctor(host, args);
    expect(result.found.toSorted()).toEqual(found.toSorted());
    expect(document.notRun).toEqual([]);
    expect(seen.filter((value) => !seenIn(document).includes(value))).toEqual([]);
  });

  it('given metrics of the API server that may not be read, when examined, then health-1 is not run, and says what is not known', async () => {
    const host = installation();
    addHealthMonitor(host);
    const { document, code } = await doctor(host);
    expect(document.notRun.map(({ id }) => id)).toEqual(['health-1']);
    expect(JSON.stringify(document.notRun)).toContain('gate CSIVolumeHealth');
    expect(code).toBe(5);
  });

  it('given no health monitor, when examined, then the metrics of the API server are not read', async () => {
    const host = installation();
    const { document } = await doctor(host);
    expect(document.notRun).toEqual([]);
    expect(host.server.requests.filter(({ path }) => path === '/metrics')).toEqual([]);
  });

  it('given the combined process with the health monitor, when examined, then its rights are those of the health monitor', async () => {
    const host = installation({ intercept: withHealthGate(1) });
    addHealthMonitor(host);
    const args = ['--controllers=health-monitor', '--leader-election', '--csi-address=/csi/csi.sock'];
    const image = 'registry.example.com/csi-sidecars:v0.1.0';
    add(host, controllersWith(sidecar(monitorName, [], { name: 'all', image, args })));
    expect((await doctor(host)).found).toEqual([]);
    withoutStatus(host);
    expect((await doctor(host, ['--only=rights-13'])).found).toEqual(['error rights-13']);
  });
});
