// SPDX-License-Identifier: Apache-2.0
/** `csi-sidecars doctor` over the charts with the programs that are off by default: nothing is found, and with one thing broken that. */
import { describe, expect, it } from 'vitest';
import { add } from '../../../../packages/explain/testing/cluster.ts';
import { authorities } from '../../../../packages/explain/testing/authorities.ts';
import { withHealthGate } from '../../../../packages/explain/testing/further-programs.ts';
import { doctor } from '../../../../packages/explain/testing/examining.ts';
import { hasHelm, render } from '../../../testing/helm.ts';
import { one } from '../../../testing/manifest.ts';
import { installed, type Installed, put } from '../installed.ts';
import { renderWith } from '../minimal.ts';

const caCert = Buffer.from(authorities.valid).toString('base64');
const values = {
  features: { healthMonitor: true, snapshotMetadata: true },
  sidecars: {
    image: { registry: 'registry.example.com/csi-sidecars' },
    snapshotMetadata: { tlsSecretName: 'tls', caCert },
  },
};

async function cluster(sidecars: object = {}): Promise<Installed> {
  const manifests = await renderWith(
    { ...values, sidecars: { ...values.sidecars, ...sidecars } },
    { namespace: 'storage' },
  );
  const result = installed(manifests, [], { intercept: withHealthGate(1) });
  const service = one(manifests, 'Service', 'test-csi-driver-snapshot-metadata').metadata.name;
  put(result, one(manifests, 'SnapshotMetadataService'));
  add(result.host, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `${service}-1`, namespace: 'storage', labels: { 'kubernetes.io/service-name': service } },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
  });
  return result;
}

/** The findings about the programs that are off by default. The chart's minimal values have further warnings. */
async function foundIn({ host }: Installed): Promise<readonly string[]> {
  const { found, document } = await doctor(host, ['--only=health,meta,pop,rights,lease,driver']);
  expect(document.notRun).toEqual([]);
  return found;
}

describe.skipIf(!hasHelm)('doctor over the chart with the health monitor and csi-snapshot-metadata', () => {
  it('given the chart as it is, when examined, then nothing is found', async () => {
    expect(await foundIn(await cluster())).toEqual([]);
  });

  it('given the chart with one container for all controllers, when examined, then nothing is found', async () => {
    expect(await foundIn(await cluster({ combined: { enabled: true } }))).toEqual([]);
  });

  it('given roles without the status of claims, when examined, then the health monitor lacks it', async () => {
    const broken = await cluster();
    // The roles of csi-provisioner and csi-resizer grant it too.
    for (const { rules = [], ...role } of broken.manifests.filter(({ kind }) => kind === 'ClusterRole'))
      put(broken, {
        ...role,
        rules: rules.filter(({ resources }) => !resources.includes('persistentvolumeclaims/status')),
      });
    expect(await foundIn(broken)).toContain('error rights-13');
  });

  it('given a role of csi-snapshot-metadata without rules, when examined, then what it lacks is found', async () => {
    const broken = await cluster();
    const role = one(broken.manifests, 'ClusterRole', `${broken.driver}-snapshot-metadata`);
    put(broken, { ...role, rules: [] });
    expect(await foundIn(broken)).toEqual(['error rights-15']);
  });
});

describe.skipIf(!hasHelm)('doctor over the chart snapshot-controller with the validator', () => {
  const image = { registry: 'registry.example.com/sidecars' };
  const controller = { enableDataSourceValidator: true };

  it('given the chart as it is, when examined, then nothing is found of the validator', async () => {
    const manifests = await render({
      chart: 'snapshot-controller',
      namespace: 'storage',
      values: { image, controller },
    });
    const driver = await cluster();
    for (const kind of [
      'ClusterRole',
      'ClusterRoleBinding',
      'Role',
      'RoleBinding',
      'CustomResourceDefinition',
      'Deployment',
    ])
      for (const manifest of manifests.filter((each) => each.kind === kind)) put(driver, manifest);
    const { found, document } = await doctor(driver.host, ['--only=pop,rights-14,rights-6,crd']);
    expect(document.notRun).toEqual([]);
    expect(found).toEqual([]);
  });
});
