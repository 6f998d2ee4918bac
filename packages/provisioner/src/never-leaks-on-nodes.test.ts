// SPDX-License-Identifier: Apache-2.0
/**
 * Node deployment, with an instance on each of three nodes: whatever the driver answers, the API server refuses, users delete and select,
 * and whichever instances restart or die: once nothing happens any more, there is one record per volume, no finalizer is left, and
 * deleted claims are gone.
 */
import {
  type Node,
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '@csi-sidecars/runtime';
import { createDriverModel, type DriverModel, type Settings } from '@csi-sidecars/test-driver';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { aClaim, aClass, aNodeDeployment, driverName } from '../testing/builders.ts';
import { aProvisioner, type Fixture } from '../testing/provisioner-fixture.ts';
import { selectNode } from '../testing/others.ts';
import { playController } from '../testing/pv-controller.ts';
import { consistent, type Mode, playFault, storyClaims, storyStep, type StoryStep } from '../testing/random-stories.ts';
import { skipIds } from '../testing/skip-ids.ts';
import { annotations, instanceAnnotation, provisioningFinalizer } from './names.ts';

const names = ['n1', 'n2', 'n3'] as const;
const finalizer = provisioningFinalizer(driverName);

type NodeStep =
  | { readonly kind: 'at'; readonly node: number; readonly step: StoryStep }
  | { readonly kind: 'select'; readonly claim: string; readonly node: string };

const step: fc.Arbitrary<NodeStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('at' as const), node: fc.nat({ max: 2 }), step: storyStep }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('select' as const),
      claim: fc.constantFrom(...storyClaims),
      node: fc.constantFrom(...names),
    }),
  },
);

const nodes = names.map((id) => ({ id, segments: { node: id }, maxVolumes: 0 }));
let settings: Partial<Settings> = {};
const controller = ['CREATE_DELETE_VOLUME', 'GET_CAPACITY'] as const;

/** `driver` is that of the node: no other knows its volumes. Default: a new one. */
type Beside = Partial<Pick<Fixture, 'driver'>> & Pick<Fixture, 'clock' | 'server'>;

const idsOfANode = 40;

async function anotherDriver(name: string, { clock }: Beside): Promise<DriverModel> {
  const driver = createDriverModel({ clock, settings });
  await skipIds(driver, idsOfANode * names.indexOf(name as 'n1'));
  return driver;
}

async function instance(name: string, mode: Mode, first?: Beside): Promise<Fixture> {
  const cluster = first && {
    clock: first.clock,
    server: first.server,
    driver: first.driver ?? (await anotherDriver(name, first)),
    faults: [],
  };
  const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name } };
  const late = aClass({ metadata: { name: 'late', uid: 'late-uid' }, volumeBindingMode: 'WaitForFirstConsumer' });
  return await aProvisioner({
    topology: 'on',
    controller,
    model: { nodes },
    ...(cluster === undefined ? { seed: [aClass(), late, node] } : { seed: [], cluster }),
    randomSeed: name.charCodeAt(1),
    settings: { provisioningProtection: mode, node: aNodeDeployment(name) },
  });
}

function nodeOf({ spec }: PersistentVolume): string | undefined {
  return spec?.nodeAffinity?.required?.nodeSelectorTerms[0]?.matchExpressions?.[0]?.values?.[0];
}

function isMine(claim: PersistentVolumeClaim | undefined): boolean {
  return claim?.metadata?.finalizers?.includes(finalizer) === true;
}

/** The windows that the page of the provisioner documents are left out, as in the stories of a central deployment. */
function mayChange(instances: readonly Fixture[], name: string, mode: Mode): boolean {
  const [p] = instances as [Fixture];
  const claim = p.claim(name);
  if (mode === 'always' || claim === undefined) return claim !== undefined;
  const wasCalled = instances.some((each) =>
    each.requests('CreateVolume').some((request) => request['name'] === `pvc-uid-${name}`),
  );
  return isMine(claim) || claim.status?.phase === 'Bound' || !wasCalled;
}

function select(p: Fixture, name: string, node: string): void {
  const claim = p.claim(name);
  if (claim === undefined || (claim.spec?.volumeName ?? '') !== '') return;
  selectNode(p, node, name);
}

/** As kube-scheduler, for the claim that binds late. */
function playScheduler(p: Fixture, node: string): void {
  if ((p.claim('b')?.metadata?.annotations?.[annotations.selectedNode] ?? '') === '') select(p, 'b', node);
}

async function play(
  instances: Fixture[],
  { node, step: next }: Extract<NodeStep, { kind: 'at' }>,
  mode: Mode,
): Promise<void> {
  const p = instances[node] as Fixture;
  switch (next.kind) {
    case 'refuse':
    case 'slow':
    case 'small':
    case 'api':
      playFault(p, next);
      return;
    case 'wait':
      await p.clock.advance(next.ms);
      playController(p);
      playScheduler(p, names[node] ?? 'n1');
      return;
    case 'delete':
      if (mayChange(instances, next.claim, mode)) p.deleteClaim(next.claim);
      await p.settle();
      return;
    case 'crash':
    case 'restart':
      if (next.kind === 'crash') p.crash();
      else {
        const stopping = p.stop();
        await p.clock.advance(60_000);
        await stopping;
      }
      instances[node] = await instance(names[node] ?? 'n1', mode, p);
  }
}

it.each(['ambiguous', 'always'] as const)(
  'given an instance on each node, --provisioning-protection=%s and any sequence of failures, deletions, selections, restarts and crashes, when it has ended, then nothing is lost or leaked',
  async (mode) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (drawn) => {
        const kept = new Set(consistent(drawn.flatMap((each) => (each.kind === 'at' ? [each.step] : []))));
        const steps = drawn.filter((each) => each.kind !== 'at' || kept.has(each.step));
        const first = await instance('n1', mode);
        for (const name of ['n2', 'n3']) {
          first.server.seed({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
        }
        const { clock, server } = first;
        settings = first.driver.settings;
        const instances = [
          first,
          await instance('n2', mode, { clock, server }),
          await instance('n3', mode, { clock, server }),
        ];
        const early = steps.slice(0, 4).filter((each) => each.kind === 'at' && each.step.kind !== 'delete');
        for (const each of early) if (each.kind === 'at') await play(instances, each, mode);
        first.server.seed(aClaim({ name: 'a' }));
        first.server.seed(aClaim({ name: 'b', node: 'n2', spec: { storageClassName: 'late' } }));
        await instances[0]?.settle();
        for (const each of steps.slice(4)) {
          if (each.kind === 'at') await play(instances, each, mode);
          else if (mayChange(instances, each.claim, mode)) select(instances[0] as Fixture, each.claim, each.node);
        }
        const p = instances[0] as Fixture;
        for (const { driver, faults } of instances) {
          driver.faults.clear();
          faults.splice(0);
        }
        for (let round = 0; round < 10; round++) {
          playController(p);
          playScheduler(p, 'n3');
          await p.clock.advance(100_000);
          for (const each of instances) await each.settle();
        }
        const volumes = p.server.objects.list(persistentVolumes);
        const claims = p.server.objects.list(persistentVolumeClaims);
        for (const [index, { driver }] of instances.entries()) {
          const recorded = volumes.filter((volume) => nodeOf(volume) === names[index]);
          expect(new Set(driver.volumes().map(({ id }) => id))).toEqual(
            new Set(recorded.map(({ spec }) => spec?.csi?.volumeHandle)),
          );
        }
        expect(claims.filter(isMine)).toEqual([]);
        expect(claims.filter(({ metadata }) => metadata?.annotations?.[instanceAnnotation(driverName)])).toEqual([]);
        expect(claims.map(({ status }) => status?.phase)).toEqual(claims.map(() => 'Bound'));
        expect(volumes).toHaveLength(claims.length);
        for (const each of instances) await each.stop();
        expect(p.clock.pending).toBe(0);
      }),
      { numRuns: 100, seed: 20_261_123 },
    );
  },
  120_000,
);
