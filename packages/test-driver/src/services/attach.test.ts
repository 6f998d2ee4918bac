// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { ControllerPublishVolumeRequestInput } from '@csi-sidecars/csi';
import { bench, block, mount, newVolume, without, type Bench } from '../../testing/calls.ts';
import type { Settings } from '../index.ts';

const publish = '/csi.v1.Controller/ControllerPublishVolume';
const unpublish = '/csi.v1.Controller/ControllerUnpublishVolume';
const list = '/csi.v1.Controller/ListVolumes';

const nodes = ['node-1', 'node-2'].map((id) => ({ id, segments: { zone: id }, maxVolumes: 2 }));
const parameters = { plain: '1', empty: '', 'odd/ key=': '"ü\n' };

async function withVolume(settings: Partial<Settings> = {}): Promise<Bench & { readonly id: string }> {
  const driver = bench({ nodes, ...settings });
  const request = newVolume('a', { parameters, volume_capabilities: [mount(), mount('MULTI_NODE_MULTI_WRITER')] });
  return { ...driver, id: await driver.createVolume(request) };
}

function attach(id: string, more: ControllerPublishVolumeRequestInput = {}): ControllerPublishVolumeRequestInput {
  return { volume_id: id, node_id: 'node-1', volume_capability: mount(), volume_context: parameters, ...more };
}

async function attachedTo({ call }: Bench): Promise<readonly (readonly string[])[]> {
  return (await call(list, {})).entries.map(({ status }) => status!.published_node_ids);
}

describe('ControllerPublishVolume', () => {
  const rows: { given: string; more: ControllerPublishVolumeRequestInput; code: string }[] = [
    { given: 'no volume id', more: { volume_id: '' }, code: 'InvalidArgument' },
    { given: 'no node id', more: { node_id: '' }, code: 'InvalidArgument' },
    { given: 'no capability', more: { volume_capability: null }, code: 'InvalidArgument' },
    { given: 'an unknown volume', more: { volume_id: 'nope' }, code: 'NotFound' },
    { given: 'an unknown node', more: { node_id: 'nope' }, code: 'NotFound' },
    { given: 'a node in another zone', more: { node_id: 'node-2' }, code: 'FailedPrecondition' },
    { given: 'another access type', more: { volume_capability: block() }, code: 'InvalidArgument' },
    {
      given: 'a context without its unusual key',
      more: { volume_context: { plain: '1', empty: '' } },
      code: 'InvalidArgument',
    },
    {
      given: 'a context with keys that Kubernetes added',
      more: { volume_context: { ...parameters, 'storage.kubernetes.io/csiProvisionerIdentity': 'x' } },
      code: 'OK',
    },
    { given: 'everything', more: {}, code: 'OK' },
  ];
  it.each(rows)('given $given, when attached, then $code', async ({ more, code }) => {
    const driver = await withVolume();
    expect(await driver.codeOf(publish, attach(driver.id, more))).toBe(code);
    expect(await attachedTo(driver)).toEqual([code === 'OK' ? ['node-1'] : []]);
  });

  it('given an attached volume, when attached again, then the context is the same; with other arguments, then AlreadyExists', async () => {
    const { id, call, codeOf } = await withVolume();
    const first = await call(publish, attach(id));
    expect(await call(publish, attach(id))).toEqual(first);
    expect(await codeOf(publish, attach(id, { readonly: true }))).toBe('AlreadyExists');
    expect(await codeOf(publish, attach(id, { volume_capability: mount('SINGLE_NODE_READER_ONLY') }))).toBe(
      'AlreadyExists',
    );
  });

  it('[csi-spec#7] given readonly and a driver without PUBLISH_READONLY, when attached, then InvalidArgument', async () => {
    const { id, codeOf } = await withVolume(without('PUBLISH_READONLY'));
    expect(await codeOf(publish, attach(id, { readonly: true }))).toBe('InvalidArgument');
  });

  it('given a volume on one node, when attached to a second, then only multi-node modes on both sides are allowed', async () => {
    const anywhere = nodes.map((node) => ({ ...node, segments: {} }));
    const { id, codeOf } = await withVolume({ nodes: anywhere });
    const shared = { volume_capability: mount('MULTI_NODE_MULTI_WRITER') };
    await codeOf(publish, attach(id));
    expect(await codeOf(publish, attach(id, { node_id: 'node-2' }))).toBe('FailedPrecondition');
    expect(await codeOf(publish, attach(id, { node_id: 'node-2', ...shared }))).toBe('FailedPrecondition');
    await codeOf(unpublish, { volume_id: id, node_id: 'node-1' });
    expect(await codeOf(publish, attach(id, shared))).toBe('OK');
    expect(await codeOf(publish, attach(id, { node_id: 'node-2', ...shared }))).toBe('OK');
  });

  it('[csi-spec#13] given a node at its limit, when another volume is attached, then ResourceExhausted until one is detached', async () => {
    const { id, codeOf, createVolume } = await withVolume();
    const others = [await createVolume(newVolume('b')), await createVolume(newVolume('c'))];
    const bare = { volume_context: {} };
    for (const volume of [id, others[0]!]) expect(await codeOf(publish, attach(volume, bare))).toBe('OK');
    expect(await codeOf(publish, attach(others[1]!, bare))).toBe('ResourceExhausted');
    await codeOf(unpublish, { volume_id: id, node_id: 'node-1' });
    expect(await codeOf(publish, attach(others[1]!, bare))).toBe('OK');
  });

  it('[csi-spec#16] given a driver without attach, when a volume is attached, then Unimplemented', async () => {
    const { id, codeOf } = await withVolume(without('PUBLISH_UNPUBLISH_VOLUME'));
    expect(await codeOf(publish, attach(id))).toBe('Unimplemented');
    expect(await codeOf(unpublish, { volume_id: id })).toBe('Unimplemented');
  });
});

describe('ControllerUnpublishVolume', () => {
  const rows: { given: string; request: object; code: string; left: string[] }[] = [
    { given: 'no volume id', request: { volume_id: '' }, code: 'InvalidArgument', left: ['node-1'] },
    { given: 'an unknown volume', request: { volume_id: 'nope', node_id: 'node-1' }, code: 'OK', left: ['node-1'] },
    { given: 'a node it is not attached to', request: { node_id: 'node-2' }, code: 'OK', left: ['node-1'] },
    { given: 'an unknown node', request: { node_id: 'nope' }, code: 'OK', left: ['node-1'] },
    { given: 'its node', request: { node_id: 'node-1' }, code: 'OK', left: [] },
    { given: 'no node, which means all', request: {}, code: 'OK', left: [] },
  ];
  it.each(rows)('given $given, when detached, then $code', async ({ request, code, left }) => {
    const driver = await withVolume();
    await driver.call(publish, attach(driver.id));
    expect(await driver.codeOf(unpublish, { volume_id: driver.id, ...request })).toBe(code);
    expect(await attachedTo(driver)).toEqual([left]);
    expect(await driver.codeOf(unpublish, { volume_id: driver.id, ...request })).toBe(code);
  });

  it('[csi-spec#14] given a fault that answers NotFound, when a volume is detached, then it is still attached: only OK proves detachment', async () => {
    const driver = await withVolume();
    await driver.call(publish, attach(driver.id));
    driver.model.faults.add({
      method: 'ControllerUnpublishVolume',
      times: 1,
      action: { kind: 'fail', code: 'NotFound' },
    });
    expect(await driver.codeOf(unpublish, { volume_id: driver.id, node_id: 'node-1' })).toBe('NotFound');
    expect(await attachedTo(driver)).toEqual([['node-1']]);
  });
});

describe('published_node_ids', () => {
  it('[csi-spec#9] given a driver without LIST_VOLUMES_PUBLISHED_NODES, when listed, then no node is named', async () => {
    const driver = await withVolume(without('LIST_VOLUMES_PUBLISHED_NODES'));
    await driver.call(publish, attach(driver.id));
    expect(await attachedTo(driver)).toEqual([[]]);
  });

  it('[csi-spec#9] given a node that only the storage knows, when a volume is attached to it, then it is named', async () => {
    const driver = bench();
    const id = await driver.createVolume(newVolume('a'));
    await driver.call(publish, { volume_id: id, node_id: 'somewhere-else', volume_capability: mount() });
    expect(await attachedTo(driver)).toEqual([['somewhere-else']]);
  });
});
