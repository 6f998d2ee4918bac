// SPDX-License-Identifier: Apache-2.0
/** What `controller.enableDataSourceValidator` adds to the rendered chart. */
import { describe, expect, it } from 'vitest';
import { hasHelm, refusalOf, render } from '../../../testing/helm.ts';
import { container, flagsOf, type Manifest, ofKind, one, podOf } from '../../../testing/manifest.ts';

const chart = 'snapshot-controller';
const image = { registry: 'registry.example.com/sidecars' };
const rendered = (values: object): Promise<readonly Manifest[]> => render({ chart, values: { image, ...values } });
const on = { controller: { enableDataSourceValidator: true } };
const definition = 'volumepopulators.populator.storage.k8s.io';

const flags = (objects: readonly Manifest[]) =>
  flagsOf(container(podOf(one(objects, 'Deployment')), 'snapshot-controller'));
const definitions = (objects: readonly Manifest[]): readonly string[] =>
  ofKind(objects, 'CustomResourceDefinition').map(({ metadata }) => metadata.name);
const rulesOn = (objects: readonly Manifest[], resource: string) =>
  [...ofKind(objects, 'ClusterRole'), ...ofKind(objects, 'Role')]
    .flatMap(({ rules = [] }) => rules)
    .filter(({ resources }) => resources.includes(resource))
    .map(({ verbs, resourceNames }) => [verbs, resourceNames]);
const guarded = (objects: readonly Manifest[]): string =>
  JSON.stringify(one(objects, 'ValidatingAdmissionPolicy').spec);

describe.skipIf(!hasHelm)('the validator', () => {
  it('given the default, then neither flag, nor right, nor definition', async () => {
    const objects = await rendered({});
    expect(flags(objects)).not.toHaveProperty('enable-data-source-validator');
    expect(rulesOn(objects, 'volumepopulators')).toEqual([]);
    expect(rulesOn(objects, 'leases').length).toBe(2);
    expect(definitions(objects)).not.toContain(definition);
    expect(guarded(objects)).not.toContain(definition);
  });

  it('given the switch, then the flag, the rights on populators and on the second lease, and the definition under the guard', async () => {
    const objects = await rendered(on);
    expect(flags(objects)).toMatchObject({ 'enable-data-source-validator': 'true' });
    expect(rulesOn(objects, 'volumepopulators')).toEqual([[['list', 'watch'], undefined]]);
    expect(rulesOn(objects, 'leases')).toContainEqual([['get', 'watch', 'update'], ['data-source-validator-leader']]);
    expect(definitions(objects)).toContain(definition);
    expect(guarded(objects)).toContain(definition);
    const { metadata } = ofKind(objects, 'CustomResourceDefinition').find((each) => each.metadata.name === definition)!;
    expect(metadata.annotations).toMatchObject({ 'helm.sh/resource-policy': 'keep' });
  });

  it('given the switch, then an alert says how many claims name an unknown kind, and without it there is none', async () => {
    const metrics = { enabled: true, rules: { enabled: true } };
    const alertsIn = (objects: readonly Manifest[]) => JSON.stringify(one(objects, 'PrometheusRule').spec);
    expect(alertsIn(await rendered({ ...on, metrics }))).toContain('CSIUnknownDataSource');
    expect(alertsIn(await rendered({ metrics }))).not.toContain('CSIUnknownDataSource');
  });

  it("given the switch and upstream's roles, then populators are granted as upstream grants them", async () => {
    const objects = await rendered({ ...on, rbac: { profile: 'compatible' } });
    expect(rulesOn(objects, 'volumepopulators')).toEqual([[['get', 'list', 'watch'], undefined]]);
  });

  it('given the definition alone, or the switch without it, then each is as asked for', async () => {
    const only = await rendered({ controller: { enabled: false }, crds: { volumePopulator: true } });
    expect(definitions(only)).toContain(definition);
    const without = await rendered({ ...on, crds: { volumePopulator: false } });
    expect(definitions(without)).not.toContain(definition);
  });

  it('given the switch for snapshot metadata, then its definition is installed; without it, it is not', async () => {
    const metadata = 'snapshotmetadataservices.cbt.storage.k8s.io';
    expect(definitions(await rendered({ crds: { snapshotMetadata: true } }))).toContain(metadata);
    expect(definitions(await rendered({}))).not.toContain(metadata);
  });

  it("given upstream's image, then the switch is refused, because upstream's program has no such flag", async () => {
    const refusal = await refusalOf({ chart, values: { image: { registry: '' }, ...on } });
    expect(refusal).toContain('controller.enableDataSourceValidator needs our image');
  });

  it('given the flag among the extra arguments, then it is refused', async () => {
    const values = { image, controller: { extraArgs: ['--enable-data-source-validator'] } };
    expect(await refusalOf({ chart, values })).toContain('must not contain --enable-data-source-validator');
  });
});
