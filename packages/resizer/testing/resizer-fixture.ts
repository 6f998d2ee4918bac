// SPDX-License-Identifier: Apache-2.0
/**
 * The whole resizer, its real loops, caches and client, between a fake API server and the driver's model, in virtual time. Nothing
 * expands file systems by itself: a test plays kubelet where it needs one.
 */
import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '@csi-sidecars/runtime';
import type { FaultRule } from '@csi-sidecars/runtime/testing';
import { allCapabilities, driverInfoOf, type Settings } from '@csi-sidecars/test-driver';
import {
  conflict,
  createTestCluster,
  gib,
  prepareVolumes,
  startController,
  type StartedController,
  type StartOptions,
  type TestCluster,
} from '@csi-sidecars/test-driver/testing';
import type { Claim } from '../src/claim.ts';
import type { Expansion } from '../src/driver.ts';
import { clusterRules } from '../src/rbac.ts';
import { createResizer } from '../src/resizer.ts';
import { aClaim, aVolume, driverName, type SettingsOverrides, someSettings } from './builders.ts';

export { conflict, forbidden, gib } from '@csi-sidecars/test-driver/testing';

type ControllerCapability = (typeof allCapabilities.controller)[number];

/** Default seed: a claim that asks for 2Gi and its volume of 1Gi. */
export interface FixtureOptions extends StartOptions {
  readonly settings?: SettingsOverrides;
  /** Controller capabilities beside CREATE_DELETE_VOLUME. Default: EXPAND_VOLUME and MODIFY_VOLUME. */
  readonly controller?: readonly ControllerCapability[];
  /** Node capabilities. Default: EXPAND_VOLUME, so that the node has to expand as well. */
  readonly node?: readonly (typeof allCapabilities.node)[number][];
  readonly expansion?: Expansion;
  readonly model?: Partial<Settings>;
}

export interface Fixture extends StartedController {
  claim(name?: string): Claim | undefined;
  volume(name?: string): PersistentVolume | undefined;
  /** As by a user, kubelet or another controller. */
  changeClaim(change: (claim: Claim) => Claim, name?: string): void;
  changeVolume(change: (volume: PersistentVolume) => PersistentVolume, name?: string): void;
  /** A user asks for another size. */
  ask(size: string, name?: string): void;
  /** The sizes of all ControllerExpandVolume calls, in bytes. */
  sizes(): readonly string[];
  /** Somebody writes the claim just before the next request to its status arrives, so that a guarded one gets a conflict. */
  overtake(name?: string): void;
}

export async function aResizer(options: FixtureOptions = {}): Promise<Fixture> {
  const started = await startController(options, {
    name: 'csi-resizer',
    component: `external-resizer ${driverName}`,
    call: 'ControllerExpandVolume',
    seed: [aClaim(), aVolume()],
    newCluster: () => clusterOf(options),
    create: (ports, cluster) => {
      const facts = driverInfoOf(cluster.driver.settings);
      const ofDriver = facts.controllerCapabilities.has('EXPAND_VOLUME') ? 'controller' : 'trivial';
      const driver = { ...facts, expansion: options.expansion ?? ofDriver };
      return createResizer(ports, { driver, settings: someSettings(options.settings) });
    },
  });
  return toFixture(started);
}

/** With three volumes of 1Gi that the driver made: `volume-1` to `volume-3`. */
async function clusterOf({ controller, node, model, rules = clusterRules }: FixtureOptions): Promise<TestCluster> {
  const capabilities = {
    ...allCapabilities,
    plugin: ['CONTROLLER_SERVICE'] as const,
    controller: ['CREATE_DELETE_VOLUME' as const, ...(controller ?? (['EXPAND_VOLUME', 'MODIFY_VOLUME'] as const))],
    node: node ?? (['EXPAND_VOLUME'] as const),
  };
  const cluster = createTestCluster({
    serviceAccount: 'csi:resizer',
    rules,
    driver: { name: driverName, capabilities, ...model },
  });
  await prepareVolumes(cluster, gib);
  return cluster;
}

function toFixture(running: StartedController): Fixture {
  const { server } = running;
  const changeClaim: Fixture['changeClaim'] = (change, name = 'data') =>
    void server.objects.change(persistentVolumeClaims, { namespace: 'team', name }, change);
  return {
    ...running,
    claim: (name = 'data') => server.objects.get(persistentVolumeClaims, { namespace: 'team', name }),
    volume: (name = 'pv1') => server.objects.get(persistentVolumes, { name }),
    changeClaim,
    ask: (size, name) =>
      changeClaim((claim) => ({ ...claim, spec: { ...claim.spec, resources: { requests: { storage: size } } } }), name),
    sizes: () =>
      running
        .requests('ControllerExpandVolume')
        .map((request) => (request['capacity_range'] as { readonly required_bytes: string }).required_bytes),
    changeVolume: (change, name = 'pv1') => void server.objects.change(persistentVolumes, { name }, change),
    overtake: (name) => {
      let isDue = true;
      const when: FaultRule['when'] = ({ verb, subresource }) => {
        if (!isDue || verb !== 'patch' || subresource !== 'status') return false;
        isDue = false;
        const labels = { overtaken: 'yes' };
        changeClaim((claim) => ({ ...claim, metadata: { ...claim.metadata, labels } }), name);
        return false;
      };
      running.faults.push({ when, fault: conflict });
    },
  };
}
