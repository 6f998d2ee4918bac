// SPDX-License-Identifier: Apache-2.0
/** Secrets of a class in the content that is planned. */
import { snapshotAnnotations } from '@csi-sidecars/volume';
import { expect, it } from 'vitest';
import { aClaim, aClass, aSnapshot, aVolume, withoutClass } from '../../testing/builders.ts';
import { planContent } from './plan-content.ts';

const [secretName, secretNamespace] = [
  'csi.storage.k8s.io/snapshotter-secret-name',
  'csi.storage.k8s.io/snapshotter-secret-namespace',
];
const plan = (parameters: Readonly<Record<string, string>>, snapshot = aSnapshot()) =>
  planContent({ classes: [aClass('gold', { parameters })], claim: aClaim(), volume: aVolume(), node: '' }, snapshot, {
    recordVolumeMode: true,
  });
const refusal = (cause: string) => ({
  kind: 'error',
  message: `failed to get input parameters to create snapshot snap: ${JSON.stringify(cause)}`,
});

it.each([
  {
    id: '[snapshot-controller#125]',
    given: 'a token of annotations',
    parameters: {
      [secretName]:
        "static-${volumesnapshotcontent.name}-${volumesnapshot.namespace}-${volumesnapshot.name}-${volumesnapshot.annotations['akey']}",
      [secretNamespace]: 'ns',
    },
    cause:
      'error resolving value "static-${volumesnapshotcontent.name}-${volumesnapshot.namespace}-${volumesnapshot.name}-${volumesnapshot.annotations[\'akey\']}": invalid tokens: ["volumesnapshot.annotations[\'akey\']"]',
  },
  {
    id: '[snapshot-controller#126]',
    given: 'the name of the snapshot in the namespace',
    parameters: { [secretName]: 'x', [secretNamespace]: '${volumesnapshot.name}' },
    cause: 'error resolving value "${volumesnapshot.name}": invalid tokens: ["volumesnapshot.name"]',
  },
  {
    id: '[snapshot-controller#127]',
    given: 'a name with a space',
    parameters: { [secretName]: 'bad name', [secretNamespace]: 'ns' },
    cause: '"bad name" is not a valid secret name',
  },
  {
    id: '[snapshot-controller#127]',
    given: 'a namespace with a dot',
    parameters: { [secretName]: 'x', [secretNamespace]: 'a.b' },
    cause: '"a.b" is not a valid namespace name',
  },
  {
    id: '[snapshot-controller#128]',
    given: 'a namespace alone',
    parameters: { [secretNamespace]: 'ns' },
    cause:
      'failed to get name and namespace template from params: either name and namespace for Snapshotter secrets specified, Both must be specified',
  },
])('$id given $given, then there is no content', ({ parameters, cause }) => {
  expect(plan(parameters)).toEqual(refusal(cause));
});

it('[snapshot-controller#127, 128] given a name with dots, or no secret, then the content has the annotations, or none', () => {
  const named = plan({ [secretName]: 'a.b', [secretNamespace]: 'ns' });
  expect(named.kind === 'ok' ? named.value.metadata?.annotations : named).toEqual({
    [snapshotAnnotations.deletionSecretName]: 'a.b',
    [snapshotAnnotations.deletionSecretNamespace]: 'ns',
  });
  const plain = plan({});
  expect(plain.kind === 'ok' ? plain.value.metadata?.annotations : plain).toBeUndefined();
});

it('given no class, then there is no content', () => {
  expect(plan({}, withoutClass(aSnapshot()))).toEqual(refusal('failed to take snapshot snap without a snapshot class'));
});
