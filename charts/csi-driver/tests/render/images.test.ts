// SPDX-License-Identifier: Apache-2.0
/** Whose images a chart from the sources deploys. What a released chart does is in release.test.ts. */
import { describe, expect, it } from 'vitest';
import { hasHelm, notes, render } from '../../../testing/helm.ts';
import { containersOf, isWorkload, podOf, type Manifest } from '../../../testing/manifest.ts';
import { chart, minimalFile, upstream } from '../minimal.ts';

const files = [minimalFile];
const sidecarsOf = (objects: readonly Manifest[]): readonly string[] =>
  objects
    .filter(isWorkload)
    .flatMap((object) => containersOf(podOf(object)))
    .filter(({ name }) => name !== 'csi-driver')
    .map(({ image }) => image);

interface Row {
  readonly given: string;
  readonly sidecars: object;
  /** In front of the names of the images. */
  readonly prefix: string;
  readonly isOurs: boolean;
}

const rows: readonly Row[] = [
  { given: 'no value', sidecars: {}, prefix: 'registry.k8s.io/sig-storage/', isOurs: false },
  {
    given: "upstream's registry",
    sidecars: upstream.sidecars,
    prefix: 'registry.k8s.io/sig-storage/',
    isOurs: false,
  },
  {
    given: 'a registry',
    sidecars: { image: { registry: 'r.example.com/x/' } },
    prefix: 'r.example.com/x/',
    isOurs: true,
  },
  {
    given: "a mirror of upstream's images",
    sidecars: { image: { registry: 'r.example.com/x' }, implementation: 'upstream' },
    prefix: 'r.example.com/x/',
    isOurs: false,
  },
  {
    given: 'our images on the nodes',
    sidecars: { image: { pullPolicy: 'Never' }, implementation: 'csi-sidecars' },
    prefix: '',
    isOurs: true,
  },
];

describe.skipIf(!hasHelm).each(rows)('given $given', ({ sidecars, prefix, isOurs }) => {
  it('[packaging#56] then every sidecar is an image of that place with a tag that is there, and the notes say whose it is', async () => {
    const images = sidecarsOf(await render({ chart, files, values: { sidecars } }));
    expect(images).toHaveLength(6);
    for (const image of images) {
      expect(image.startsWith(`${prefix}csi-`) || image.startsWith(`${prefix}livenessprobe:`), image).toBe(true);
      expect(image.endsWith(':v0.1.0'), image).toBe(isOurs);
    }
    const text = await notes({ chart, files, values: { sidecars } });
    expect(text.includes('Sidecars of this project: csi-provisioner ')).toBe(isOurs);
    expect(text.includes('Sidecars of upstream: csi-provisioner ')).toBe(!isOurs);
    expect(text.includes('upgrade with sidecars.image.registry=REGISTRY')).toBe(!isOurs);
  });

  it('then the pod of helm test is there with ours only, since upstream has no program for it', async () => {
    const objects = await render({ chart, files, values: { sidecars }, withTests: true });
    const tests = objects.filter(({ kind }) => kind === 'Pod');
    expect(tests.map(({ spec }) => (spec as { containers: { image: string }[] }).containers[0]!.image)).toEqual(
      isOurs ? [`${prefix}csi-sidecars:v0.1.0`] : [],
    );
  });
});

describe.skipIf(!hasHelm)('mixed images', () => {
  it('given a registry for one sidecar, then that one is ours and the others are upstreams', async () => {
    const values = { sidecars: { provisioner: { image: { registry: 'r.example.com' }, nodeOptions: '--title=a' } } };
    expect(sidecarsOf(await render({ chart, files, values }))).toEqual(
      expect.arrayContaining([
        'r.example.com/csi-provisioner:v0.1.0',
        'registry.k8s.io/sig-storage/csi-attacher:v4.13.0',
      ]),
    );
  });

  it("given a registry for the combined container, then the small sidecars stay upstream's", async () => {
    const values = { sidecars: { combined: { enabled: true, image: { registry: 'r.example.com' } } } };
    expect(new Set(sidecarsOf(await render({ chart, files, values })))).toEqual(
      new Set([
        'r.example.com/csi-sidecars:v0.1.0',
        'registry.k8s.io/sig-storage/livenessprobe:v2.20.0',
        'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.18.0',
      ]),
    );
  });
});
