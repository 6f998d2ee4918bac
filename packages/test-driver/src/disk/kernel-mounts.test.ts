// SPDX-License-Identifier: Apache-2.0
/** Tests with the real kernel: bind mounts, loop devices, file systems. They need root and free loop devices. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { lstat, mkdir, open, readdir, stat, statfs } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type {
  CreateVolumeRequestInput,
  CsiChannel,
  Method,
  RequestOf,
  ResponseOf,
  VolumeCapabilityInput,
} from '@csi-sidecars/csi';
import { block, codeOf as codeOfCall, mount, newVolume } from '../../testing/calls.ts';
import { runProgram, temporaryFolder } from '../../testing/program.ts';

/** Growing ext4 in use is a privilege of its own, which containers often lack. */
const capSysResource = 1n << 24n;
const mayGrowExt4 =
  (BigInt(`0x${/CapEff:\s*(\w+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`) & capSysResource) !==
  0n;
const fileSystems = ['ext4', 'xfs'] as const;
const hasProgram = (name: string): boolean =>
  (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, name)));
/** The machine's abilities that a test may need. */
const able = {
  root: process.getuid?.() === 0,
  'loop-devices': existsSync('/dev/loop-control'),
  ext4: hasProgram('mkfs.ext4'),
  xfs: hasProgram('mkfs.xfs'),
  'growing-ext4': mayGrowExt4,
} as const;
const isAble = able.root && able['loop-devices'];
const canMake = (type: (typeof fileSystems)[number]): boolean => isAble && able[type];
const canGrow = (type: (typeof fileSystems)[number]): boolean =>
  canMake(type) && (type !== 'ext4' || able['growing-ext4']);
const mib = 1024 ** 2;
const undo: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

interface OnNode {
  readonly folder: string;
  readonly call: <M extends Method>(method: M, request: RequestOf<M>) => Promise<ResponseOf<M>>;
  readonly codeOf: <M extends Method>(method: M, request: RequestOf<M>) => Promise<string>;
  readonly create: (name: string, more: CreateVolumeRequestInput) => Promise<string>;
  /** Publishes a volume at `<folder>/<name>`. */
  readonly use: (id: string, use: Use) => Promise<string>;
  readonly leave: (id: string, name: string) => Promise<void>;
  readonly restart: () => Promise<void>;
}

interface Use {
  readonly name: string;
  readonly access: VolumeCapabilityInput;
  readonly readonly?: boolean;
}

/** The driver has no attach: these tests are about the node. */
async function onNode(flags: readonly string[] = []): Promise<OnNode> {
  const { path: folder, [Symbol.asyncDispose]: remove } = await temporaryFolder();
  undo.push(
    async () => await remove(),
    async () => cleanUp(folder),
  );
  // A relative folder must work too: loop devices are found by the absolute path of their file.
  const state = `--statedir=${relative(process.cwd(), folder)}/state`;
  const options = { folder, flags: ['--mounts=kernel', '--enable-attach=false', state, ...flags] };
  let program = await runProgram(options);
  undo.push(async () => await program[Symbol.asyncDispose]());
  const channel = (): CsiChannel => program.channel;
  const call: OnNode['call'] = (method, request) => channel().call(method, request, { timeoutMs: 60_000 });
  const paths = (name: string): { staging_target_path: string; target_path: string } => ({
    staging_target_path: join(folder, `${name}-staging`),
    target_path: join(folder, name),
  });
  return {
    folder,
    call,
    codeOf: async (method, request) => await codeOfCall(call(method, request)),
    create: async (name, more) =>
      (await call('/csi.v1.Controller/CreateVolume', newVolume(name, more))).volume!.volume_id,
    use: async (id, { name, access, readonly = false }) => {
      const { staging_target_path, target_path } = paths(name);
      const request = { volume_id: id, volume_capability: access, staging_target_path };
      const { volume } = await call('/csi.v1.Controller/ControllerGetVolume', { volume_id: id });
      const volume_context = volume!.volume_context;
      await mkdir(staging_target_path, { recursive: true });
      await call('/csi.v1.Node/NodeStageVolume', { ...request, volume_context });
      await call('/csi.v1.Node/NodePublishVolume', { ...request, volume_context, target_path, readonly });
      return target_path;
    },
    leave: async (id, name) => {
      const { staging_target_path, target_path } = paths(name);
      await call('/csi.v1.Node/NodeUnpublishVolume', { volume_id: id, target_path });
      await call('/csi.v1.Node/NodeUnstageVolume', { volume_id: id, staging_target_path });
    },
    restart: async () => {
      await program[Symbol.asyncDispose]();
      program = await runProgram(options);
    },
  };
}

/** Removes what a failed test left behind, so that later tests do not fail too. */
function cleanUp(folder: string): void {
  for (const path of mountsBelow(folder).toReversed()) execFileSync('umount', ['--lazy', path]);
  for (const device of devicesBelow(folder)) execFileSync('losetup', ['--detach', device]);
}

function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .filter((path) => path.startsWith(`${folder}/`));
}

function devicesBelow(folder: string): string[] {
  const list = execFileSync('losetup', ['--list', '--noheadings', '--output', 'NAME,BACK-FILE'], { encoding: 'utf8' });
  return list.split('\n').flatMap((line) => (line.includes(` ${folder}/`) ? [line.split(' ')[0]!] : []));
}

/** The driver has left nothing in the kernel. */
function traces(folder: string): object {
  return { mounts: mountsBelow(folder), devices: devicesBelow(folder) };
}
const nothing = { mounts: [], devices: [] };
const size = (mebibytes: number): CreateVolumeRequestInput => ({
  capacity_range: { required_bytes: String(mebibytes * mib) },
});

describe.runIf(isAble)('directories (needs root, loop-devices)', () => {
  it('given a volume, when used, left and used elsewhere, then data stays, and nothing is mounted after', async () => {
    const node = await onNode();
    const id = await node.create('a', {});
    const first = await node.use(id, { name: 'one', access: mount() });
    writeFileSync(join(first, 'file'), 'data');
    expect(mountsBelow(node.folder).length).toBe(2);
    await node.leave(id, 'one');
    expect(traces(node.folder)).toEqual(nothing);
    await expect(lstat(first)).rejects.toThrow('ENOENT');
    const second = await node.use(id, { name: 'two', access: mount() });
    expect(readFileSync(join(second, 'file'), 'utf8')).toBe('data');
    await node.leave(id, 'two');
    expect(await node.codeOf('/csi.v1.Controller/DeleteVolume', { volume_id: id })).toBe('OK');
    expect(await readdir(join(node.folder, 'state', 'volumes'))).toEqual([]);
  });

  it('given a read-only publish, when written, then the file system refuses; another path of the same volume is writable', async () => {
    const node = await onNode();
    const shared = mount('MULTI_NODE_MULTI_WRITER');
    const id = await node.create('a', { volume_capabilities: [shared] });
    const staging = join(node.folder, 's');
    await mkdir(staging);
    const request = { volume_id: id, volume_capability: shared, staging_target_path: staging };
    await node.call('/csi.v1.Node/NodeStageVolume', request);
    const [locked, free] = [join(node.folder, 'locked'), join(node.folder, 'free')];
    await node.call('/csi.v1.Node/NodePublishVolume', { ...request, target_path: locked, readonly: true });
    await node.call('/csi.v1.Node/NodePublishVolume', { ...request, target_path: free });
    expect(() => writeFileSync(join(locked, 'file'), 'x')).toThrow('EROFS');
    writeFileSync(join(free, 'file'), 'x');
    expect(readFileSync(join(locked, 'file'), 'utf8')).toBe('x');
  });

  it('[hostpath-driver#8] given something else mounted at the target, when published, then it fails and stays; when unpublished, then it is not touched', async () => {
    const node = await onNode();
    const id = await node.create('a', {});
    const target = join(node.folder, 'one');
    await mkdir(target);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', target]);
    await expect(node.use(id, { name: 'one', access: mount() })).rejects.toThrow('something else is mounted');
    expect(await node.codeOf('/csi.v1.Node/NodeUnpublishVolume', { volume_id: id, target_path: target })).toBe(
      'Internal',
    );
    expect(mountsBelow(node.folder)).toContain(target);
  });

  it('[hostpath-driver#7] given a volume deleted while its node was lost, when the node is back, then it can unpublish and nothing is left', async () => {
    const node = await onNode(['--enable-attach=true']);
    const id = await node.create('a', {});
    const access = { volume_id: id, volume_capability: mount() };
    const attach = '/csi.v1.Controller/ControllerPublishVolume';
    const { publish_context } = await node.call(attach, { ...access, node_id: 'node-1' });
    const staging_target_path = join(node.folder, 's');
    await mkdir(staging_target_path);
    const request = { ...access, publish_context, staging_target_path };
    const target_path = join(node.folder, 'pod');
    await node.call('/csi.v1.Node/NodeStageVolume', request);
    await node.call('/csi.v1.Node/NodePublishVolume', { ...request, target_path });
    await node.call('/csi.v1.Controller/ControllerUnpublishVolume', { volume_id: id, node_id: 'node-1' });
    await node.call('/csi.v1.Controller/DeleteVolume', { volume_id: id });
    await node.call('/csi.v1.Node/NodeUnpublishVolume', { volume_id: id, target_path });
    expect(traces(node.folder)).toEqual(nothing);
    await expect(lstat(target_path)).rejects.toThrow('ENOENT');
  });

  it('given mounts that a reboot removed, when asked for stats, then its health reports it; when staged and published again, then they are restored', async () => {
    const node = await onNode();
    const id = await node.create('a', {});
    const target = await node.use(id, { name: 'one', access: mount() });
    writeFileSync(join(target, 'file'), 'data');
    for (const path of mountsBelow(node.folder).toReversed()) execFileSync('umount', [path]);
    await node.restart();
    const get = '/csi.v1.Node/NodeGetVolumeHealth';
    const message = `the volume is not mounted at ${target}-staging, ${target}`;
    expect(await node.call(get, { volume_id: id })).toEqual({
      volume_health: {
        volume_id: id,
        health_statuses: [{ status: 'INACCESSIBLE', reason: 'NotMounted', message }],
      },
    });
    await node.use(id, { name: 'one', access: mount() });
    expect(readFileSync(join(target, 'file'), 'utf8')).toBe('data');
    expect(await node.call(get, { volume_id: id })).toEqual({ volume_health: { volume_id: id, health_statuses: [] } });
  });
});

describe.runIf(isAble)('ownership (needs root, loop-devices)', () => {
  it('given a mount group, then an existing file and a new file both belong to the group', async () => {
    const node = await onNode();
    const access = { mount: { volume_mount_group: '4711' }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
    const id = await node.create('a', { volume_capabilities: [access] });
    await mkdir(join(node.folder, 'state', 'volumes', id, 'data', 'old'));
    const target = await node.use(id, { name: 'one', access });
    writeFileSync(join(target, 'new'), 'x');
    const owners = await Promise.all(['', 'old', 'new'].map(async (name) => (await stat(join(target, name))).gid));
    expect(owners).toEqual([4711, 4711, 4711]);
  });
});

describe.runIf(isAble)('without staging (needs root, loop-devices)', () => {
  it.each(['directory', 'filesystem'])(
    'given a %s, when published twice and unpublished, then it is mounted once and gone with the volume',
    async (layout) => {
      const node = await onNode(['--without=node.STAGE_UNSTAGE_VOLUME']);
      const context = { layout };
      const shared = mount('MULTI_NODE_MULTI_WRITER');
      const id = await node.create('a', { parameters: context, volume_capabilities: [shared], ...size(64) });
      const request = { volume_id: id, volume_capability: shared, volume_context: context };
      const targets = ['one', 'two'].map((name) => join(node.folder, name));
      for (const target_path of targets) await node.call('/csi.v1.Node/NodePublishVolume', { ...request, target_path });
      writeFileSync(join(targets[0]!, 'file'), 'data');
      expect(readFileSync(join(targets[1]!, 'file'), 'utf8')).toBe('data');
      for (const target_path of targets)
        await node.call('/csi.v1.Node/NodeUnpublishVolume', { volume_id: id, target_path });
      await node.call('/csi.v1.Controller/DeleteVolume', { volume_id: id });
      expect(traces(node.folder)).toEqual(nothing);
      expect(await readdir(join(node.folder, 'state', 'mounts'))).toEqual([]);
    },
  );
});

describe.runIf(isAble)('file systems in images (needs root, loop-devices)', () => {
  const filesystem = { parameters: { layout: 'filesystem' } };

  for (const fs_type of fileSystems) {
    it.runIf(canGrow(fs_type))(
      `given a volume with ${fs_type}, when expanded in use, then the file system has the new size and the old data (needs ${fs_type}, growing-${fs_type})`,
      async () => {
        const node = await onNode();
        const access = {
          mount: { fs_type, mount_flags: ['noatime'] },
          access_mode: { mode: 'SINGLE_NODE_WRITER' as const },
        };
        const id = await node.create('a', { ...filesystem, ...size(320) });
        const target = await node.use(id, { name: 'one', access });
        const bytes = async (): Promise<number> => {
          const { bsize, blocks } = await statfs(target);
          return bsize * blocks;
        };
        const before = await bytes();
        expect(before).toBeGreaterThan(200 * mib);
        expect(before).toBeLessThanOrEqual(320 * mib);
        writeFileSync(join(target, 'file'), 'data');
        const wanted = { volume_id: id, capacity_range: { required_bytes: String(640 * mib) } };
        await node.call('/csi.v1.Controller/ControllerExpandVolume', wanted);
        expect(await bytes()).toBe(before);
        await node.call('/csi.v1.Node/NodeExpandVolume', { ...wanted, volume_path: target });
        expect(await bytes()).toBeGreaterThan(500 * mib);
        expect(readFileSync(join(target, 'file'), 'utf8')).toBe('data');
        const { usage } = await node.call('/csi.v1.Node/NodeGetVolumeStats', { volume_id: id, volume_path: target });
        expect(usage.map(({ unit, total }) => [unit, Number(total) > 0])).toEqual([
          ['BYTES', true],
          ['INODES', true],
        ]);
        expect(Number(usage[0]!.total)).toBe(await bytes());
        await node.leave(id, 'one');
        expect(traces(node.folder)).toEqual(nothing);
      },
      60_000,
    );
  }

  for (const fs_type of fileSystems) {
    it.runIf(canMake(fs_type))(
      `given a live ${fs_type}, when a snapshot is restored larger beside it, then it is mounted, grown and has what was written before (needs ${fs_type})`,
      async () => {
        const node = await onNode();
        const access = { mount: { fs_type }, access_mode: { mode: 'SINGLE_NODE_WRITER' as const } };
        const id = await node.create('a', { ...filesystem, ...size(320) });
        const target = await node.use(id, { name: 'one', access });
        writeFileSync(join(target, 'file'), 'before');
        const { snapshot } = await node.call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: id });
        writeFileSync(join(target, 'file'), 'after'); // fails if the file system were still frozen
        const source = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
        const copy = await node.create('b', { ...filesystem, ...source, ...size(640) });
        const restored = await node.use(copy, { name: 'two', access });
        expect(readFileSync(join(restored, 'file'), 'utf8')).toBe('before');
        const { bsize, blocks } = await statfs(restored);
        expect(bsize * blocks).toBeGreaterThan(500 * mib);
        await node.leave(copy, 'two');
        await node.leave(id, 'one');
        expect(traces(node.folder)).toEqual(nothing);
      },
      60_000,
    );
  }

  it.runIf(canMake('xfs'))(
    'given no file system type, when a volume is mounted, then it has XFS, or ext4 if it is smaller than the smallest XFS (needs xfs)',
    async () => {
      const node = await onNode();
      const typeAt = async (mebibytes: number): Promise<string> => {
        const name = `v${mebibytes}`;
        const id = await node.create(name, { ...filesystem, ...size(mebibytes) });
        const target = await node.use(id, { name, access: mount() });
        const type = execFileSync('findmnt', ['--noheadings', '--output', 'FSTYPE', '--target', target]);
        await node.leave(id, name);
        return String(type).trim();
      };
      expect([await typeAt(299), await typeAt(300)]).toEqual(['ext4', 'xfs']);
    },
    60_000,
  );

  it('given a file system that a crash left frozen, when started again, then it is thawed', async () => {
    const node = await onNode();
    const id = await node.create('a', { ...filesystem, ...size(64) });
    const target = await node.use(id, { name: 'one', access: mount() });
    execFileSync('fsfreeze', ['--freeze', target]);
    await node.restart();
    expect(() => execFileSync('fsfreeze', ['--unfreeze', target], { stdio: 'pipe' })).toThrow('Invalid argument');
  });

  it('given a volume of a device that holds data but no file system, when staged as a file system, then it is refused and the data is kept', async () => {
    const node = await onNode();
    const source = await node.create('raw', { volume_capabilities: [block()], ...size(64) });
    const device = await node.use(source, { name: 'raw', access: block() });
    await write(device, 'precious');
    await node.leave(source, 'raw');
    const from = { volume_content_source: { volume: { volume_id: source } } };
    const id = await node.create('b', { ...from, ...size(64) });
    await expect(node.use(id, { name: 'two', access: mount() })).rejects.toThrow('holds data but no file system');
    const back = await node.create('c', { ...from, volume_capabilities: [block()], ...size(64) });
    expect(await read(await node.use(back, { name: 'three', access: block() }), 8)).toBe('precious');
  });
});

describe.runIf(isAble)('devices (needs root, loop-devices)', () => {
  it('[hostpath-driver#2] given a device and a relative state folder, when used, expanded and deleted, then size and data are right and no loop device is left', async () => {
    const node = await onNode();
    const id = await node.create('a', { volume_capabilities: [block()], ...size(8) });
    const device = await node.use(id, { name: 'one', access: block() });
    expect((await stat(device)).isBlockDevice()).toBe(true);
    expect(await endOf(device)).toBe(8 * mib);
    await write(device, 'data');
    const wanted = { volume_id: id, capacity_range: { required_bytes: String(16 * mib) } };
    await node.call('/csi.v1.Controller/ControllerExpandVolume', wanted);
    expect(await endOf(device)).toBe(8 * mib);
    await node.call('/csi.v1.Node/NodeExpandVolume', { ...wanted, volume_path: device });
    expect(await endOf(device)).toBe(16 * mib);
    expect(await read(device, 4)).toBe('data');
    const { usage } = await node.call('/csi.v1.Node/NodeGetVolumeStats', { volume_id: id, volume_path: device });
    expect(usage).toEqual([{ unit: 'BYTES', total: String(16 * mib), available: '0', used: '0' }]);
    expect(await node.codeOf('/csi.v1.Controller/DeleteVolume', { volume_id: id })).toBe('FailedPrecondition');
    await node.leave(id, 'one');
    expect(traces(node.folder)).toEqual(nothing);
    expect(await node.codeOf('/csi.v1.Controller/DeleteVolume', { volume_id: id })).toBe('OK');
  });

  it('given a device that is being written, when a snapshot is taken, then it contains all earlier writes', async () => {
    const node = await onNode();
    const id = await node.create('a', { volume_capabilities: [block()], ...size(8) });
    const device = await node.use(id, { name: 'one', access: block() });
    await write(device, 'before');
    const { snapshot } = await node.call('/csi.v1.Controller/CreateSnapshot', { name: 's', source_volume_id: id });
    await write(device, 'after!');
    const source = { volume_content_source: { snapshot: { snapshot_id: snapshot!.snapshot_id } } };
    const copy = await node.create('b', { ...source, volume_capabilities: [block()], ...size(16) });
    const restored = await node.use(copy, { name: 'two', access: block() });
    expect([await read(restored, 6), await endOf(restored)]).toEqual(['before', 16 * mib]);
  });
});

async function write(device: string, text: string): Promise<void> {
  await using file = await open(device, 'r+');
  await file.write(text, 0);
}

async function read(device: string, length: number): Promise<string> {
  await using file = await open(device, 'r');
  return (await file.read(Buffer.alloc(length), 0, length, 0)).buffer.toString();
}

async function endOf(device: string): Promise<number> {
  return Number(execFileSync('blockdev', ['--getsize64', device], { encoding: 'utf8' }));
}
