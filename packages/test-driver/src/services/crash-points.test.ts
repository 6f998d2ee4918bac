// SPDX-License-Identifier: Apache-2.0
/**
 * Nothing leaks and nothing is lost if the driver crashes before or after any write. For each flow the writes to records
 * and storage are counted. Then the flow is run twice per write: the driver dies before or after that write and starts again with the same
 * disk, and the caller repeats its call.
 */
import { describe, expect, it } from 'vitest';
import type { DecodedRequestOf, Method, RequestOf, ResponseInputOf } from '@csi-sidecars/csi';
import { codecOf } from '@csi-sidecars/csi/testing';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { gib, mount, newVolume } from '../../testing/calls.ts';
import { openDriver, type Driver } from '../core/driver.ts';
import { defaultSettings } from '../core/settings.ts';
import { MemoryDisk } from '../model/memory-disk.ts';
import { handle } from './handlers.ts';

interface Trouble {
  readonly write: number;
  /** The driver dies before or after the write, or only the write fails, as on a full disk. */
  readonly kind: 'dies before' | 'dies after' | 'fails';
}

/** A driver with a disk that fails at one of its writes. */
class FailingDriver {
  readonly disk: MemoryDisk = new MemoryDisk();
  writes = 0;
  trouble: Trouble | undefined;
  #driver: Driver | undefined;

  async start(): Promise<void> {
    const { persistence, backend, cut } = this.disk.connect();
    this.#driver = await openDriver({
      settings: defaultSettings,
      clock: new FakeClock(),
      newId: (kind) => this.disk.newId(kind),
      persistence: this.#counted(persistence, cut),
      backend: this.#counted(backend, cut),
    });
  }

  async call<M extends Method>(method: M, request: RequestOf<M>): Promise<ResponseInputOf<M>> {
    const codec = codecOf(method);
    const decoded = codec.requestDeserialize(codec.requestSerialize(request)) as DecodedRequestOf<M>;
    const call = { nodeId: 'node-1', underLock: async () => undefined };
    return await handle(this.#driver!, { method, request: decoded }, call);
  }

  #counted<T extends object>(port: T, cut: () => void): T {
    const verbs = Object.entries(port as Record<string, (...args: unknown[]) => Promise<unknown>>);
    const counted = verbs.map(([name, verb]) => {
      const reads = ['load', 'isForeign', 'usage', 'health'].includes(name);
      const write = async (...args: unknown[]): Promise<unknown> => {
        this.writes += 1;
        const kind = this.trouble?.write === this.writes ? this.trouble.kind : undefined;
        if (kind === 'fails') throw new Error('no space left on device');
        if (kind === 'dies before') cut();
        const result = await verb(...args);
        if (kind === 'dies after') cut();
        return result;
      };
      return [name, reads ? verb : write];
    });
    return Object.fromEntries(counted) as T;
  }

  /** The content of the disk in a form that does not depend on ids. */
  summary(): object {
    const { records, contents, mounts } = this.disk;
    const nameOf = (id: string): string =>
      records.volumes.get(id)?.name ?? records.snapshots.get(id)?.name.replace(/volume-\d+/, 'v') ?? `stranger ${id}`;
    const summary = {
      volumes: [...records.volumes.values()].map(
        ({ name, phase, capacityBytes, attachments, stagings, publications }) => ({
          name,
          phase,
          capacityBytes,
          nodes: attachments.map(({ nodeId }) => nodeId),
          paths: [...stagings, ...publications].map(({ path }) => path),
        }),
      ),
      snapshots: [...records.snapshots.values()].map(({ id, phase, groupId }) => ({
        name: nameOf(id),
        phase,
        group: groupId === undefined ? '' : (records.groups.get(groupId)?.name ?? 'lost'),
      })),
      groups: [...records.groups.values()].map(({ name, phase, snapshotIds }) => ({
        name,
        phase,
        members: snapshotIds.map(nameOf),
      })),
      contents: [...contents].map(([id, text]) => ({ name: nameOf(id), text })),
      mounts: [...mounts].map(([path, { volumeId }]) => ({ path, name: nameOf(volumeId) })),
    };
    const sorted = Object.entries(summary).map(([kind, list]) => [
      kind,
      list.map((entry) => JSON.stringify(entry, digits)).sort(),
    ]);
    return Object.fromEntries(sorted) as object;
  }
}

function digits(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

interface Flow {
  readonly name: string;
  /** What a failed write leaves behind if the driver keeps running: a creation undoes itself, a removal continues at the next attempt. */
  readonly leaves: 'nothing' | 'intent';
  readonly prepare: (driver: FailingDriver) => Promise<Record<string, string>>;
  readonly act: (driver: FailingDriver, ids: Record<string, string>) => Promise<unknown>;
}

const create = '/csi.v1.Controller/CreateVolume';
const attach = '/csi.v1.Controller/ControllerPublishVolume';
const group = '/csi.v1.GroupController/CreateVolumeGroupSnapshot';

async function source(driver: FailingDriver, name = 'source'): Promise<Record<string, string>> {
  const { volume } = await driver.call(create, newVolume(name));
  driver.disk.contents.set(volume!.volume_id!, 'data');
  return { [name]: volume!.volume_id! };
}

async function onNode(driver: FailingDriver): Promise<Record<string, string>> {
  const ids = await source(driver);
  const { publish_context } = await driver.call(attach, {
    volume_id: ids['source']!,
    node_id: 'node-1',
    volume_capability: mount(),
  });
  return { ...ids, attachment: publish_context!['test-driver/attachment']! };
}

function place(ids: Record<string, string>): {
  volume_id: string;
  volume_capability: ReturnType<typeof mount>;
  publish_context: Record<string, string>;
  staging_target_path: string;
} {
  return {
    volume_id: ids['source']!,
    volume_capability: mount(),
    publish_context: { 'test-driver/attachment': ids['attachment']! },
    staging_target_path: '/staging',
  };
}

const inline = {
  volume_id: 'inline',
  target_path: '/inline',
  volume_capability: mount(),
  volume_context: { 'csi.storage.k8s.io/ephemeral': 'true' },
};

const flows: readonly Flow[] = [
  {
    name: 'CreateVolume',
    leaves: 'nothing',
    prepare: async () => ({}),
    act: async (driver) => await driver.call(create, newVolume('a')),
  },
  {
    name: 'CreateVolume of a clone',
    leaves: 'nothing',
    prepare: source,
    act: async (driver, ids) =>
      await driver.call(create, newVolume('a', { volume_content_source: { volume: { volume_id: ids['source']! } } })),
  },
  {
    name: 'DeleteVolume',
    leaves: 'intent',
    prepare: source,
    act: async (driver, ids) => await driver.call('/csi.v1.Controller/DeleteVolume', { volume_id: ids['source']! }),
  },
  {
    name: 'ControllerPublishVolume',
    leaves: 'intent',
    prepare: source,
    act: async (driver, ids) =>
      await driver.call(attach, { volume_id: ids['source']!, node_id: 'node-1', volume_capability: mount() }),
  },
  {
    name: 'ControllerUnpublishVolume',
    leaves: 'intent',
    prepare: onNode,
    act: async (driver, ids) =>
      await driver.call('/csi.v1.Controller/ControllerUnpublishVolume', { volume_id: ids['source']! }),
  },
  {
    name: 'ControllerExpandVolume',
    leaves: 'intent',
    prepare: source,
    act: async (driver, ids) =>
      await driver.call('/csi.v1.Controller/ControllerExpandVolume', {
        volume_id: ids['source']!,
        capacity_range: { required_bytes: (2n * gib).toString() },
      }),
  },
  {
    name: 'CreateSnapshot',
    leaves: 'nothing',
    prepare: source,
    act: async (driver, ids) =>
      await driver.call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: ids['source']! }),
  },
  {
    name: 'DeleteSnapshot',
    leaves: 'intent',
    prepare: async (driver) => {
      const ids = await source(driver);
      const request = { name: 's', source_volume_id: ids['source']! };
      const { snapshot } = await driver.call('/csi.v1.Controller/CreateSnapshot', request);
      return { ...ids, snapshot: snapshot!.snapshot_id! };
    },
    act: async (driver, ids) =>
      await driver.call('/csi.v1.Controller/DeleteSnapshot', { snapshot_id: ids['snapshot']! }),
  },
  {
    name: 'CreateVolumeGroupSnapshot',
    leaves: 'nothing',
    prepare: async (driver) => ({ ...(await source(driver)), ...(await source(driver, 'second')) }),
    act: async (driver, ids) =>
      await driver.call(group, { name: 'g', source_volume_ids: [ids['source']!, ids['second']!] }),
  },
  {
    name: 'DeleteVolumeGroupSnapshot',
    leaves: 'intent',
    prepare: async (driver) => {
      const ids = { ...(await source(driver)), ...(await source(driver, 'second')) };
      const { group_snapshot } = await driver.call(group, { name: 'g', source_volume_ids: Object.values(ids) });
      const members = group_snapshot!.snapshots!.map(({ snapshot_id }) => snapshot_id!);
      return { group: group_snapshot!.group_snapshot_id!, one: members[0]!, two: members[1]! };
    },
    act: async (driver, ids) =>
      await driver.call('/csi.v1.GroupController/DeleteVolumeGroupSnapshot', {
        group_snapshot_id: ids['group']!,
        snapshot_ids: [ids['one']!, ids['two']!],
      }),
  },
  {
    name: 'NodeStageVolume and NodePublishVolume',
    leaves: 'intent',
    prepare: onNode,
    act: async (driver, ids) => {
      await driver.call('/csi.v1.Node/NodeStageVolume', place(ids));
      await driver.call('/csi.v1.Node/NodePublishVolume', { ...place(ids), target_path: '/pod' });
    },
  },
  {
    name: 'NodeUnpublishVolume and NodeUnstageVolume',
    leaves: 'intent',
    prepare: async (driver) => {
      const ids = await onNode(driver);
      await driver.call('/csi.v1.Node/NodeStageVolume', place(ids));
      await driver.call('/csi.v1.Node/NodePublishVolume', { ...place(ids), target_path: '/pod' });
      return ids;
    },
    act: async (driver, ids) => {
      await driver.call('/csi.v1.Node/NodeUnpublishVolume', { volume_id: ids['source']!, target_path: '/pod' });
      await driver.call('/csi.v1.Node/NodeUnstageVolume', {
        volume_id: ids['source']!,
        staging_target_path: '/staging',
      });
    },
  },
  {
    name: 'NodePublishVolume of an inline volume',
    leaves: 'nothing',
    prepare: async () => ({}),
    act: async (driver) => await driver.call('/csi.v1.Node/NodePublishVolume', inline),
  },
  {
    name: 'NodeUnpublishVolume of an inline volume',
    leaves: 'intent',
    prepare: async (driver) => {
      await driver.call('/csi.v1.Node/NodePublishVolume', inline);
      return {};
    },
    act: async (driver) =>
      await driver.call('/csi.v1.Node/NodeUnpublishVolume', { volume_id: 'inline', target_path: '/inline' }),
  },
];

async function prepared(flow: Flow): Promise<{ readonly driver: FailingDriver; readonly ids: Record<string, string> }> {
  const driver = new FailingDriver();
  await driver.start();
  const ids = await flow.prepare(driver);
  driver.writes = 0;
  return { driver, ids };
}

/** Right after a start nothing is incomplete. */
function requireWhole({ disk: { records, contents } }: FailingDriver): void {
  const all = [...records.volumes.values(), ...records.snapshots.values(), ...records.groups.values()];
  expect(all.filter(({ phase }) => phase !== 'ready')).toEqual([]);
  const owners = [...records.volumes.keys(), ...records.snapshots.keys()];
  expect([...contents.keys()].sort()).toEqual(owners.sort());
  for (const { groupId } of records.snapshots.values()) {
    if (groupId !== undefined) expect(records.groups.has(groupId)).toBe(true);
  }
}

describe.each(flows)('$name', (flow) => {
  it('given a crash before or after any write, when started again and repeated, then the result is that of a run without crash', async () => {
    const undisturbed = await prepared(flow);
    await flow.act(undisturbed.driver, undisturbed.ids);
    const { writes } = undisturbed.driver;
    expect(writes).toBeGreaterThan(0);
    for (let write = 1; write <= writes; write += 1) {
      for (const kind of ['dies before', 'dies after'] as const) {
        const { driver, ids } = await prepared(flow);
        driver.trouble = { write, kind };
        await flow.act(driver, ids).catch(() => undefined);
        driver.trouble = undefined;
        await driver.start();
        requireWhole(driver);
        await flow.act(driver, ids);
        expect({ write, kind, ...driver.summary() }).toEqual({ write, kind, ...undisturbed.driver.summary() });
      }
    }
  });

  it('given any write that fails, when repeated on the same driver, then the result is the same', async () => {
    const undisturbed = await prepared(flow);
    await flow.act(undisturbed.driver, undisturbed.ids);
    const { writes } = undisturbed.driver;
    for (let write = 1; write <= writes; write += 1) {
      const { driver, ids } = await prepared(flow);
      driver.trouble = { write, kind: 'fails' };
      const before = driver.summary();
      await expect(flow.act(driver, ids)).rejects.toThrow('no space left on device');
      if (flow.leaves === 'nothing') expect({ write, ...driver.summary() }).toEqual({ write, ...before });
      driver.trouble = undefined;
      await flow.act(driver, ids);
      requireWhole(driver);
      expect({ write, ...driver.summary() }).toEqual({ write, ...undisturbed.driver.summary() });
    }
  });
});
