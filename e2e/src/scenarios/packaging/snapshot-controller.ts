// SPDX-License-Identifier: Apache-2.0
/** I-08: snapshot-controller as upstream's own manifests deploy it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import {
  createObjects,
  isWorkload,
  untilPodReady,
  withContainers,
  type ChartObject,
} from '../../deployment/chart-objects.ts';
import { deployAll } from '../../deployment/deploy.ts';
import { apiServerOf, csiLabel } from '../../deployment/values.ts';
import { imageOf } from '../../images/images.ts';
import { applyObjects, removeClusterWide } from '../../rbac/apply.ts';
import { placed, type RbacObject } from '../../rbac/profiles.ts';
import { downloadModule } from '../../tools/go-module.ts';
import type { ScenarioContext } from '../context.ts';
import { createClaim, createClass, untilBound } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import { installDefinitions, takeOne } from '../snapshots/steps.ts';

const upstream = { family: 'snapshot-controller', module: 'github.com/kubernetes-csi/external-snapshotter/v8' };

export const stockSnapshotController: readonly Scenario[] = [
  {
    id: 'I-08',
    title:
      "upstream's manifests of snapshot-controller with our image: one call for a snapshot, both objects bound, ready, with time, size and finalizers",
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      await deployAll(ctx, { controllers: ['csi-provisioner', 'csi-attacher', 'csi-snapshotter'] });
      await deployStock(ctx);
      await createClaim(ctx, await createClass(ctx));
      await takeOne(ctx, await untilBound(ctx));
    },
  },
];

async function deployStock(ctx: ScenarioContext): Promise<void> {
  const folder = join(await downloadModule(upstream), 'deploy', 'kubernetes', 'snapshot-controller');
  const read = (file: string): readonly RbacObject[] =>
    placed((loadAll(readFileSync(join(folder, file), 'utf8')) as RbacObject[]).filter(Boolean), ctx.namespace);
  const rbac = read('rbac-snapshot-controller.yaml');
  ctx.cleanUp.defer(() => removeClusterWide(ctx.api, rbac));
  await applyObjects(ctx.api, rbac);
  const [deployment] = read('setup-snapshot-controller.yaml') as readonly ChartObject[];
  assert.ok(deployment !== undefined && isWorkload(deployment));
  const withOurs = withContainers(deployment, (container) => ({
    ...container,
    image: imageOf('snapshot-controller'),
    env: [...apiServerOf(ctx.testRun)],
  }));
  const { spec } = withOurs;
  const { metadata, ...template } = spec.template;
  const labels = { ...metadata?.labels, [csiLabel.key]: csiLabel.value };
  // There is no pod network, and in that of the only node two replicas would have one identity.
  const here = {
    ...spec,
    replicas: 1,
    template: { ...template, metadata: { ...metadata, labels }, spec: { ...template.spec, hostNetwork: true } },
  };
  await createObjects(ctx, [{ ...withOurs, spec: here } as ChartObject]);
  await untilPodReady(ctx, 'snapshot-controller');
}
