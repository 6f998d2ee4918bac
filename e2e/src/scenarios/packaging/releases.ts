// SPDX-License-Identifier: Apache-2.0
/** I-09: the life of both charts' releases under a pod that writes. Everything is done by helm, as a user does it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { csiDrivers, type Resource } from '@csi-sidecars/runtime';
import { chartsFolder, helm } from '../../../../charts/testing/helm.ts';
import { freePorts } from '../../control-planes/local/free-ports.ts';
import { findPod, helmIn, untilPodsGone, type ChartName, type Component } from '../../deployment/chart-objects.ts';
import { createCalls, namesOf } from '../../driver/calls.ts';
import { isRegistered, prepareDeployment, untilRegistered } from '../../deployment/deploy.ts';
import { mergeValues, snapshotControllerValues, type Values } from '../../deployment/values.ts';
import { claimed } from '../../workload/user-pods.ts';
import type { ScenarioContext } from '../context.ts';
import { reads, startUser, startWriter, stillWrites, untilSaid, writes } from '../node/user-steps.ts';
import { endPod, isReady } from '../pod-life.ts';
import { createClaim, createClass } from '../provisioner/steps.ts';
import type { Scenario } from '../scenario.ts';
import {
  createSnapshot,
  createSnapshotClass,
  deleteSnapshot,
  installDefinitions,
  untilNoSnapshots,
  untilReady,
} from '../snapshots/steps.ts';

const controllers = ['csi-provisioner', 'csi-attacher', 'csi-snapshotter'] as const;
const file = '/data/file';

export const releases: readonly Scenario[] = [
  {
    id: 'I-09',
    title:
      'both charts are installed, tested, upgraded, rolled back, removed and installed again under a pod that writes: it never stops, after each step volumes reach pods',
    needs: ['kubelet'],
    exclusive: ['snapshot-controller'],
    run: async (ctx) => {
      await installDefinitions(ctx);
      const cluster = await prepareReleases(ctx);
      await cluster.install();
      const className = await createClass(ctx);
      await createClaim(ctx, className);
      const written = await startWriter(ctx, file);
      await createSnapshot(ctx, { volumeSnapshotClassName: await createSnapshotClass(ctx) });
      await untilReady(ctx);
      await cluster.test();
      const reachesPods = async (name: string): Promise<void> => {
        await createClaim(ctx, className, { name });
        await startUser(ctx, { name, volume: claimed(name), script: writes(file) });
        await untilSaid(ctx, name, 'sum');
        await endPod(ctx, name);
        await stillWrites(ctx, 'writer');
      };

      await cluster.upgrade();
      await reachesPods('upgraded');
      await cluster.rollBack();
      await reachesPods('rolled-back');

      await cluster.uninstall();
      assert.equal(await isRegistered(ctx), false);
      assert.equal((await ctx.api.get(csiDrivers, { name: ctx.driverName })).spec?.attachRequired, true, 'it is kept');
      await stillWrites(ctx, 'writer');
      await cluster.install();
      await reachesPods('installed-again');

      await endPod(ctx, 'writer');
      await startUser(ctx, { name: 'reader', volume: claimed('claim'), script: reads(file) });
      assert.equal(await untilSaid(ctx, 'reader', 'sum'), written);
      await endPod(ctx, 'reader');
      await deleteSnapshot(ctx);
      await untilNoSnapshots(ctx);
    },
  },
];

interface Release {
  readonly name: string;
  readonly chart: ChartName;
  readonly values: Values;
  /** Where its values have the verbosity, which differs from one revision to the next. */
  readonly verbosity: (level: number) => Values;
  readonly components: readonly Component[];
}

interface Releases {
  install(): Promise<void>;
  /** `helm test`, with a volume of its own, of which nothing is left. */
  test(): Promise<void>;
  /** To charts of a later version, with another value. */
  upgrade(): Promise<void>;
  /** To the first revision. */
  rollBack(): Promise<void>;
  uninstall(): Promise<void>;
}

const upstreamRole: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};

/** Scenarios with processes leave a role of upstream's name, and helm refuses what does not belong to the release. */
export async function removeUpstreamRole(ctx: ScenarioContext): Promise<void> {
  await ctx.remove(upstreamRole, 'snapshot-controller-runner');
}

const levels = { first: 5, later: 4 };
const laterVersion = '999.0.0';

async function prepareReleases(ctx: ScenarioContext): Promise<Releases> {
  const { testRun, scratch } = ctx;
  const run = (args: readonly string[], values?: Values): Promise<string> => helmIn(ctx, args, values);
  const { http } = await freePorts(['http']);
  const { values, driver } = await prepareDeployment(ctx, controllers);
  const all: readonly Release[] = [
    {
      name: 'snapshot-controller',
      chart: 'snapshot-controller',
      values: snapshotControllerValues(testRun, http),
      verbosity: (logLevel) => ({ controller: { logLevel } }),
      components: ['snapshot-controller'],
    },
    {
      name: 'csi',
      chart: 'csi-driver',
      values: mergeValues(values, {
        // Files of a volume get the group of the pod that uses it: the one of the test is not root.
        csiDriver: { keep: true, fsGroupPolicy: 'File' },
        test: { storageClass: ctx.nameOf('class') },
      }),
      verbosity: (logLevel) => ({ sidecars: { logLevel } }),
      components: ['node', 'controller'],
    },
  ];
  const components = all.flatMap((release) => release.components);
  const untilThere = async (level: number): Promise<void> => {
    for (const component of components)
      await ctx.eventually(`pods of the ${component} have --v=${level}`, () => hasLevel(ctx, component, level), 90_000);
    await untilRegistered(ctx, 60_000);
  };
  const valuesAt = ({ values: own, verbosity }: Release, level: number): Values => mergeValues(own, verbosity(level));
  await removeUpstreamRole(ctx);
  // Also after a failure, and then whatever is there.
  ctx.cleanUp.defer(async () => {
    for (const { name } of all) await run(['uninstall', name, '--ignore-not-found']);
    await untilPodsGone(ctx, components);
    // Kept by its release.
    await ctx.remove(csiDrivers, ctx.driverName);
  });
  return {
    install: async () => {
      for (const release of all)
        await run(['install', release.name, join(chartsFolder, release.chart)], valuesAt(release, levels.first));
      await untilThere(levels.first);
    },
    test: async () => {
      // The test is a program of ours.
      if (testRun.programs === 'upstream') return;
      const before = (await driver.control.volumes()).length;
      assert.match(await run(['test', 'csi', '--timeout=2m']), /^Phase:\s+Succeeded$/m);
      assert.equal(namesOf(await createCalls(driver)).length, before + 1, 'the test has had a volume');
      await ctx.eventually('the volume of the test is gone', async () => {
        return (await driver.control.volumes()).length === before;
      });
    },
    upgrade: async () => {
      for (const release of all) {
        const chart = join(chartsFolder, release.chart);
        await helm(['package', chart, '--version', laterVersion, '--destination', scratch], undefined, scratch);
        const later = join(scratch, `${release.chart}-${laterVersion}.tgz`);
        await run(['upgrade', release.name, later], valuesAt(release, levels.later));
      }
      await untilThere(levels.later);
    },
    rollBack: async () => {
      for (const { name } of all) await run(['rollback', name, '1']);
      await untilThere(levels.first);
    },
    uninstall: async () => {
      for (const { name } of all.toReversed()) await run(['uninstall', name]);
      await untilPodsGone(ctx, components);
      await ctx.eventually('kubelet has forgotten the driver', async () => !(await isRegistered(ctx)));
    },
  };
}

async function hasLevel(ctx: ScenarioContext, component: Component, level: number): Promise<boolean> {
  const pod = await findPod(ctx, component);
  const args = pod?.spec?.containers.flatMap((container) => container.args ?? []) ?? [];
  return pod !== undefined && isReady(pod) && args.includes(`--v=${level}`);
}
