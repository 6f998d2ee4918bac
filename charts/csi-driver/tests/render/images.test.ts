// SPDX-License-Identifier: Apache-2.0
/** Whose images a chart from the sources deploys. What a released chart does is in release.test.ts. */
import { describe, expect, it } from 'vitest';
import { hasHelm, notes, refusalOf, render } from '../../../testing/helm.ts';
import { tag } from '../../../testing/tag.ts';
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
      expect(image.endsWith(`:${tag}`), image).toBe(isOurs);
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
      isOurs ? [`${prefix}csi-sidecars:${tag}`] : [],
    );
  });
});

describe.skipIf(!hasHelm)('mixed images', () => {
  it('given a registry for one sidecar, then that one is ours and the others are upstreams', async () => {
    const values = { sidecars: { provisioner: { image: { registry: 'r.example.com' }, nodeOptions: '--title=a' } } };
    expect(sidecarsOf(await render({ chart, files, values }))).toEqual(
      expect.arrayContaining([
        `r.example.com/csi-provisioner:${tag}`,
        'registry.k8s.io/sig-storage/csi-attacher:v4.13.0',
      ]),
    );
  });

  it("given a registry for the combined container, then the small sidecars stay upstream's", async () => {
    const values = { sidecars: { combined: { enabled: true, image: { registry: 'r.example.com' } } } };
    expect(new Set(sidecarsOf(await render({ chart, files, values })))).toEqual(
      new Set([
        `r.example.com/csi-sidecars:${tag}`,
        'registry.k8s.io/sig-storage/livenessprobe:v2.20.0',
        'registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.18.0',
      ]),
    );
  });
});

describe.skipIf(!hasHelm)('what is refused', () => {
  const refusal = (sidecars: object): Promise<string> => refusalOf({ chart, files, values: { sidecars } });

  it.each([
    ['the implementation alone', { implementation: 'csi-sidecars' }, /sidecars\.provisioner is ours/],
    ['that of one sidecar', { livenessProbe: { implementation: 'csi-sidecars' } }, /sidecars\.livenessProbe is ours/],
    ['the combined container', { combined: { enabled: true } }, /combined\.enabled needs our image csi-sidecars/],
  ])(
    '[packaging#56] given no registry of ours and %s, then it is refused, with both ways out',
    async (_, sidecars, text) => {
      const sentence = await refusal(sidecars);
      expect(sentence).toMatch(text);
      expect(sentence).toMatch(
        /is in no public registry.*: set sidecars\.image\.registry .*sidecars\.image\.pullPolicy to Never/,
      );
    },
  );

  it.each([
    [
      'a flag of ours',
      { provisioner: { provisioningProtection: 'always' } },
      /sidecars\.provisioner\.provisioningProtection is a flag of our program/,
    ],
    [
      'a flag of ours among the arguments',
      { provisioner: { extraArgs: ['-provisioning-protection=off'] } },
      /sidecars\.provisioner\.extraArgs has -provisioning-protection=off, a flag of our program/,
    ],
    [
      'options of Node.js',
      { nodeDriverRegistrar: { nodeOptions: '--max-old-space-size=64' } },
      /sidecars\.nodeDriverRegistrar\.nodeOptions is for Node\.js/,
    ],
    [
      'the tag of our images',
      { image: { tag: 'v1' } },
      /sidecars\.image\.tag is the tag of our images, and all sidecars are upstream's/,
    ],
  ])(
    "[packaging#57] given upstream's images and %s, then it is refused, and accepted with a registry of ours",
    async (_, sidecars, text) => {
      expect(await refusal(sidecars)).toMatch(text);
      const { image = {} } = sidecars as { image?: object };
      const ours = { ...sidecars, image: { ...image, registry: 'r.example.com' } };
      expect(sidecarsOf(await render({ chart, files, values: { sidecars: ours } }))).toHaveLength(6);
    },
  );
});
