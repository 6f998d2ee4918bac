// SPDX-License-Identifier: Apache-2.0
/**
 * CreateVolume. The name is the key: the same request gives the same volume, a different one ALREADY_EXISTS.
 *
 * The order prevents leaks in a crash: record `creating` is durable, data is created, record `ready` is durable, answer. A
 * failure in between removes data and record; if that fails, the next attempt or the next start removes them.
 */
import type { CreateVolumeRequest, VolumeContentSource } from '@csi-sidecars/csi';
import { parseAccesses, sameAccess } from '../core/access.ts';
import type { Content } from '../core/backend.ts';
import { exclusively, type Driver } from '../core/driver.ts';
import { place } from '../core/pools.ts';
import type { Access, ContentSource, Layout, StringMap, VolumeRecord } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import { chooseSize, fits, parseRange, type Range } from '../core/sizes.ts';
import { sameMap } from '../core/string-map.ts';
import { candidates, domainsOf, hasSnapshotTopology, hasTopology } from '../core/topology.ts';
import { isReady, volumeMessage } from './answers.ts';
import type { Handler } from './handler.ts';
import { checkMutable } from './modify.ts';

interface Wish {
  readonly request: CreateVolumeRequest;
  readonly accesses: readonly Access[];
  readonly range: Range;
  readonly source: ContentSource;
}

export const createVolume: Handler<'/csi.v1.Controller/CreateVolume'> = async (driver, request, call) => {
  const wish = parseWish(driver, request);
  const shared = wish.source.kind === 'empty' ? [] : [`${wish.source.kind} ${wish.source.id}`];
  const claim = { exclusive: [`volume name ${request.name}`], shared };
  return await exclusively({ driver, call, claim }, async () => {
    const existing = driver.store.volumes.named(request.name);
    if (existing?.phase === 'deleting') refuse('Aborted', `volume ${request.name} is being deleted`);
    if (existing?.phase === 'ready') {
      requireSame(driver, existing, wish);
      return { volume: volumeMessage(existing) };
    }
    if (existing !== undefined) await discard(driver, existing);
    return { volume: volumeMessage(await make(driver, wish)) };
  });
};

function parseWish({ settings }: Driver, request: CreateVolumeRequest): Wish {
  if (request.name === '') refuse('InvalidArgument', 'name is missing');
  const accesses = parseAccesses(settings, request.volume_capabilities);
  checkMutable(settings, request.mutable_parameters);
  if (request.accessibility_requirements !== null && !hasTopology(settings)) {
    refuse('InvalidArgument', 'accessibility_requirements without the capability VOLUME_ACCESSIBILITY_CONSTRAINTS');
  }
  const offers = settings.capabilities.controller;
  const source = parseSource(request.volume_content_source);
  if (source.kind === 'volume' && !offers.includes('CLONE_VOLUME')) {
    refuse('InvalidArgument', 'cloning is not supported');
  }
  if (source.kind === 'snapshot' && !offers.includes('CREATE_DELETE_SNAPSHOT')) {
    refuse('InvalidArgument', 'snapshots are not supported');
  }
  return { request, accesses, range: parseRange(request.capacity_range), source };
}

function parseSource(message: VolumeContentSource | null): ContentSource {
  if (message === null) return { kind: 'empty' };
  const { snapshot, volume } = message;
  if (snapshot !== undefined && snapshot.snapshot_id !== '') return { kind: 'snapshot', id: snapshot.snapshot_id };
  if (volume !== undefined && volume.volume_id !== '') return { kind: 'volume', id: volume.volume_id };
  return refuse('InvalidArgument', 'volume_content_source names no source');
}

/** The capacity range of a retry may differ after the volume was created, and perhaps expanded. */
function requireSame({ settings }: Driver, volume: VolumeRecord, { request, accesses, range, source }: Wish): void {
  const { created } = volume;
  const domains = domainsOf(settings);
  const differences = {
    capacity_range: !fits(range, volume.capacityBytes),
    volume_capabilities: !accesses.every((access) => created.accesses.some((other) => sameAccess(access, other))),
    parameters: !sameMap(request.parameters, created.parameters),
    mutable_parameters: !sameMap(request.mutable_parameters, created.mutableParameters),
    volume_content_source: source.kind !== created.source.kind || idOf(source) !== idOf(created.source),
    accessibility_requirements:
      volume.segments !== undefined &&
      !candidates(domains, request.accessibility_requirements).some((domain) => sameMap(domain, volume.segments!)),
  };
  const names = Object.entries(differences).flatMap(([name, differs]) => (differs ? [name] : []));
  if (names.length > 0) {
    refuse('AlreadyExists', `volume ${request.name} exists with a different ${names.join(', ')}`);
  }
}

function idOf(source: ContentSource): string {
  return source.kind === 'empty' ? '' : source.id;
}

async function make(driver: Driver, { request, accesses, range, source }: Wish): Promise<VolumeRecord> {
  const { settings, store, backend } = driver;
  const content = findContent(driver, source);
  const layout = chooseLayout(accesses[0]!, request.parameters['layout'], content);
  const capacityBytes = chooseSize(settings, { range, layout, atLeastBytes: sizeOf(content) });
  const domains = domainsOf(settings);
  const requested = candidates(domains, request.accessibility_requirements);
  if (domains.length > 0 && requested.length === 0) {
    refuse('ResourceExhausted', 'the requested topology has no storage of this driver');
  }
  const allowed = requested.filter((domain) => isReadableIn(driver, content, domain));
  if (domains.length > 0 && allowed.length === 0) {
    refuse('ResourceExhausted', `snapshot ${idOf(source)} cannot be used in the requested topology`);
  }
  const volume: VolumeRecord = {
    id: driver.newId('volume'),
    name: request.name,
    order: store.nextOrder(),
    phase: 'creating',
    lifecycle: 'persistent',
    layout,
    capacityBytes,
    created: {
      accesses,
      parameters: request.parameters,
      mutableParameters: request.mutable_parameters,
      source,
    },
    mutableParameters: request.mutable_parameters,
    ...place(settings, store.volumes.all(), {
      bytes: capacityBytes,
      kind: request.parameters['kind'],
      domains: allowed,
    }),
    attachments: [],
    stagings: [],
    publications: [],
    health: undefined,
  };
  return await fill(driver, volume, () => backend.createVolume(volume, content));
}

/** Saves the intent, creates the data, saves the result. */
export async function fill(driver: Driver, volume: VolumeRecord, makeData: () => Promise<void>): Promise<VolumeRecord> {
  const { volumes } = driver.store;
  await volumes.put(volume);
  try {
    await makeData();
    const ready: VolumeRecord = { ...volume, phase: 'ready' };
    await volumes.put(ready);
    return ready;
  } catch (error) {
    await discard(driver, volume).catch(() => undefined); // the next attempt or the next start finds the record
    throw error;
  }
}

async function discard({ store, backend }: Driver, volume: VolumeRecord): Promise<void> {
  await backend.deleteVolume(volume);
  await store.volumes.delete(volume.id);
}

function findContent(driver: Driver, source: ContentSource): Content {
  const { store } = driver;
  switch (source.kind) {
    case 'empty':
      return source;
    case 'snapshot': {
      const snapshot = store.snapshots.ready(source.id);
      if (snapshot === undefined) return refuse('NotFound', `snapshot ${source.id} does not exist`);
      if (!isReady(driver, snapshot)) refuse('FailedPrecondition', `snapshot ${source.id} is not ready to use`);
      return { kind: 'snapshot', snapshot };
    }
    case 'volume': {
      const volume = store.volumes.ready(source.id);
      if (volume === undefined) return refuse('NotFound', `volume ${source.id} does not exist`);
      return { kind: 'volume', volume };
    }
  }
}

/** A snapshot that says where it can be used is copied to no other place. */
function isReadableIn({ settings }: Driver, content: Content, domain: StringMap): boolean {
  const segments = content.kind === 'snapshot' ? content.snapshot.segments : undefined;
  return segments === undefined || !hasSnapshotTopology(settings) || sameMap(domain, segments);
}

function sizeOf(content: Content): bigint {
  switch (content.kind) {
    case 'empty':
      return 0n;
    case 'snapshot':
      return content.snapshot.sizeBytes;
    case 'volume':
      return content.volume.capacityBytes;
  }
}

/** An image may change between device and file system, as on any block storage; a directory may not. */
function chooseLayout(access: Access, parameter: string | undefined, content: Content): Layout {
  if (parameter !== undefined && parameter !== 'directory' && parameter !== 'filesystem') {
    refuse('InvalidArgument', `parameter layout is ${parameter}, not directory or filesystem`);
  }
  const wanted = access.type === 'block' ? 'block' : parameter;
  if (content.kind === 'empty') return wanted ?? 'directory';
  const held = content.kind === 'snapshot' ? content.snapshot.layout : content.volume.layout;
  const natural = held === 'directory' ? 'directory' : access.type === 'block' ? 'block' : 'filesystem';
  if ((wanted ?? natural) !== natural) {
    refuse('InvalidArgument', `a ${wanted} volume cannot be made from content of layout ${held}`);
  }
  return natural;
}
