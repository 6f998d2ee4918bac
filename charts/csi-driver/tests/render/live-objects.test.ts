// SPDX-License-Identifier: Apache-2.0
/** What the chart reads from the cluster: helm renders on the simulated API server. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@csi-sidecars/runtime';
import { serveOverHttp, type HttpEndpoint } from '@csi-sidecars/runtime/testing';
import { startSim, type Sim } from '@csi-sidecars/sim';
import { join } from 'node:path';
import { chartsFolder, hasHelm, helm, HelmError } from '../../../testing/helm.ts';
import { valuesFiles } from '../../../testing/matrix.ts';
import { chart, driverName } from '../minimal.ts';

const minimal = valuesFiles(chart).find(({ name }) => name === 'minimal')!.path;
/** Marks an object as one of this release. */
const owned = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': 'test', 'meta.helm.sh/release-namespace': 'storage' },
};
const selector = {
  'app.kubernetes.io/name': 'csi-driver',
  'app.kubernetes.io/instance': 'test',
  'app.kubernetes.io/component': 'controller',
};

describe.skipIf(!hasHelm)('a chart on a cluster', () => {
  let sim: Sim;
  let endpoint: HttpEndpoint;
  beforeAll(async () => {
    sim = startSim({ clock: systemClock(), random: systemRandom(), nodes: [] });
    sim.server.addTypes({
      group: 'apps',
      version: 'v1',
      plural: 'deployments',
      kind: 'Deployment',
      namespaced: true,
      status: 'statusOnly',
    });
    endpoint = await serveOverHttp(sim.server.transport, { port: 0 });
  });
  afterAll(async () => {
    await endpoint.close();
    await sim.stop();
  });

  async function refusal(values: object): Promise<string> {
    try {
      await helm(
        [
          'template',
          'test',
          join(chartsFolder, chart),
          '--namespace',
          'storage',
          '--dry-run=server',
          '--kube-apiserver',
          endpoint.url,
          '--values',
          minimal,
        ],
        values,
      );
    } catch (error) {
      if (error instanceof HelmError) return error.message;
      throw error;
    }
    return '';
  }

  it('[packaging#30] given a CSIDriver whose immutable fields differ, then helm fails before it writes, with the steps; equal ones render', async () => {
    expect(await refusal({})).toBe('');
    sim.server.seed({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: driverName, ...owned },
      spec: { attachRequired: true, volumeLifecycleModes: ['Persistent'] },
    });
    expect(await refusal({})).toBe('');
    const values = { features: { attach: false }, csiDriver: { attachRequired: false } };
    expect(await refusal(values)).toMatch(
      /csiDriver\.attachRequired is false, but the cluster's CSIDriver has true\. .*delete the CSIDriver/s,
    );
    const modes = { csiDriver: { volumeLifecycleModes: ['Ephemeral', 'Persistent'] } };
    expect(await refusal(modes)).toMatch(
      /csiDriver\.volumeLifecycleModes is Ephemeral,Persistent, but the cluster's CSIDriver has Persistent/,
    );
  });

  it('given a Deployment with other selector labels, then helm fails with advice instead of the error of the API server', async () => {
    const deployment = (matchLabels: object): object => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'test-csi-driver-controller', namespace: 'storage', ...owned },
      spec: { selector: { matchLabels } },
    });
    sim.server.seed(deployment(selector));
    expect(await refusal({})).toBe('');
    sim.server.seed(deployment({ app: 'old' }));
    expect(await refusal({})).toMatch(
      /kubectl delete deployment --cascade=orphan --namespace storage test-csi-driver-controller/,
    );
  });
});
