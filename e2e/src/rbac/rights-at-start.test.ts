// SPDX-License-Identifier: Apache-2.0
/** csi-provisioner as a whole program with the roles of upstream: what it reports of the rights that they lack. */
import type { Handlers } from '@csi-sidecars/csi/testing';
import { provisionerSidecar } from '@csi-sidecars/provisioner';
import { leases, type PolicyRule } from '@csi-sidecars/runtime';
import { type AccessRule, freePort, settle, type Subject, until } from '@csi-sidecars/runtime/testing';
import { runSidecarProgram } from '@csi-sidecars/sidecar';
import { type DrivenProgram, runOverDriver } from '@csi-sidecars/sidecar/testing';
import { expect, it } from 'vitest';
import { request } from '../suite-client/request.ts';
import { rbacObjects } from './profiles.ts';

const namespace = 'csi';
const driverName = 'd.example.com';
const capabilities = [
  'CREATE_DELETE_VOLUME',
  'CREATE_DELETE_SNAPSHOT',
  'CLONE_VOLUME',
  'PUBLISH_UNPUBLISH_VOLUME',
  'MODIFY_VOLUME',
  'GET_CAPACITY',
] as const;
const handlers: Handlers = {
  '/csi.v1.Identity/Probe': () => ({ ready: { value: true } }),
  '/csi.v1.Identity/GetPluginInfo': () => ({ name: driverName }),
  '/csi.v1.Identity/GetPluginCapabilities': () => ({
    capabilities: [
      { service: { type: 'CONTROLLER_SERVICE' } },
      { service: { type: 'VOLUME_ACCESSIBILITY_CONSTRAINTS' } },
    ],
  }),
  '/csi.v1.Controller/ControllerGetCapabilities': () => ({
    capabilities: capabilities.map((type) => ({ rpc: { type } })),
  }),
};

/** What upstream's files grant, each rule where it holds. */
const stock: readonly AccessRule[] = rbacObjects(
  { profile: 'stock', subject: 'external-provisioner' },
  { namespace, driverName },
).flatMap(({ kind, rules = [] }) => rules.map((rule) => (kind === 'Role' ? { ...rule, namespace } : rule)));

const without = (rules: readonly AccessRule[], resource: string, verbs: readonly string[]): readonly AccessRule[] =>
  rules.map((rule) =>
    rule.resources.includes(resource) ? { ...rule, verbs: rule.verbs.filter((verb) => !verbs.includes(verb)) } : rule,
  );
const ofClasses: PolicyRule = { apiGroups: ['storage.k8s.io'], resources: ['volumeattributesclasses'], verbs: ['get'] };

interface Options extends Partial<Pick<Subject, 'reviews'>> {
  readonly rules: readonly AccessRule[];
  readonly args?: readonly string[];
}

async function started({ rules, reviews, args = [] }: Options): Promise<DrivenProgram> {
  return runOverDriver((deps) => runSidecarProgram(deps, provisionerSidecar), {
    handlers,
    rules,
    ...(reviews && { reviews }),
    args: ['--leader-election', `--leader-election-namespace=${namespace}`, ...args],
  });
}

const isReview = ({ resource }: { readonly resource: string }): boolean =>
  /^selfsubject(rules|access)reviews$/.test(resource);
const reviewsOf = ({ host }: DrivenProgram): number => host.server.requests.filter(isReview).length;
const linesOf = ({ host }: DrivenProgram): readonly string[] =>
  [...host.logged().matchAll(/ "((?:Missing right|Right granted|Rights could not).*?)"$/gm)].map(
    ([, text = '']) => text,
  );
const leads = ({ host }: DrivenProgram): boolean =>
  host.server.objects.list(leases).some(({ spec }) => (spec?.holderIdentity ?? '') !== '');

const classesMissing =
  'Missing right: get volumeattributesclasses.storage.k8s.io (cluster-wide): claims that name a VolumeAttributesClass stay pending';

it("[explain#125] given upstream's role, then one right is reported as missing, and no other", async () => {
  await using program = await started({ rules: stock });
  await until(() => linesOf(program).length > 0 && leads(program));
  await settle();
  expect([linesOf(program), reviewsOf(program)]).toEqual([[classesMissing], 2]);
});

it('[explain#126] given the right to list claims in the namespace of the Pod only, then it is reported as missing cluster-wide', async () => {
  const moved = ['list', 'watch'];
  const here = { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: moved, namespace };
  const rules = [...without(stock, 'persistentvolumeclaims', moved), here, ofClasses];
  await using program = await started({ rules });
  await until(() => linesOf(program).length > 0);
  await settle();
  expect(linesOf(program)).toEqual([
    'Missing right: list, watch persistentvolumeclaims (cluster-wide): no loop starts, and nothing is provisioned or deleted',
  ]);
});

it('[explain#127] given an account that may not ask for its rights, then one line says so, and the program leads as before', async () => {
  await using program = await started({ rules: stock, reviews: 'forbidden' });
  await until(() => linesOf(program).length > 0 && leads(program));
  expect(linesOf(program)).toEqual([expect.stringMatching(/^Rights could not be checked: .*forbidden/)]);
});

it('[explain#128] given an authorizer that lists no rules, then there are 47 requests at most, and the program leads as early as without the check', async () => {
  await using program = await started({ rules: stock, reviews: 'incomplete' });
  const beganMs = program.host.clock.monotonicMs();
  await until(() => leads(program));
  // No virtual time has passed.
  expect(program.host.clock.monotonicMs()).toBe(beganMs);
  await program.host.clock.advance(120_000);
  expect(linesOf(program)).toEqual([classesMissing]);
  expect(reviewsOf(program)).toBeGreaterThan(20);
  expect(reviewsOf(program)).toBeLessThanOrEqual(47);
});

it('[explain#129] given the right is granted five minutes later, then after the next refusal the metric goes, and one line says so', async () => {
  const port = await freePort();
  const rules: AccessRule[] = [...without(stock, 'persistentvolumeclaims', ['list', 'watch']), ofClasses];
  await using program = await started({ rules, args: [`--http-endpoint=127.0.0.1:${port}`] });
  const { clock } = program.host;
  const series = async (): Promise<readonly string[]> => {
    const { text } = await request({ url: `http://127.0.0.1:${port}/metrics` });
    return text.split('\n').filter((line) => line.startsWith('csi_sidecars_missing_rights'));
  };
  await until(() => linesOf(program).length > 0);
  const missing = ['list', 'watch'].map(
    (verb) =>
      `csi_sidecars_missing_rights{controller="provisioner",group="",resource="persistentvolumeclaims",verb="${verb}"} 1`,
  );
  expect(await series()).toEqual(missing);
  await clock.advance(5 * 60_000);
  expect(await series()).toEqual(missing);
  rules.push({ apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch'] });
  await clock.advance(10 * 60_000);
  expect(await series()).toEqual([]);
  expect(linesOf(program).slice(1)).toEqual(['Right granted: list, watch persistentvolumeclaims (cluster-wide)']);
});

it('[explain#130] given --check-rights=false, then no review is asked for, whatever is refused', async () => {
  const rules = without(stock, 'persistentvolumeclaims', ['list', 'watch']);
  await using program = await started({ rules, args: ['--check-rights=false'] });
  await until(() => leads(program));
  await program.host.clock.advance(30 * 60_000);
  expect(program.host.server.requests.some(({ code }) => code === 403)).toBe(true);
  expect([reviewsOf(program), linesOf(program)]).toEqual([0, []]);
});

it('given a right that is missing, then a refusal of its resource is logged once in ten minutes, and says so', async () => {
  await using program = await started({ rules: without(stock, 'persistentvolumeclaims', ['list', 'watch']) });
  await until(() => linesOf(program).length > 0);
  await program.host.clock.advance(30 * 60_000);
  const lines = program.host
    .logged()
    .split('\n')
    .filter((line) => line.includes('"Failed to list"'));
  expect(lines.filter((line) => line.includes('right="missing"')).length).toBe(lines.length);
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.length).toBeLessThanOrEqual(4);
});
