// SPDX-License-Identifier: Apache-2.0
/** A model and its client for tests: requests with everything a caller must send, and outcomes as plain values. */
import { CsiError } from '@csi-sidecars/csi';
import type {
  CreateVolumeRequestInput,
  CsiChannel,
  Method,
  RequestOf,
  ResponseOf,
  VolumeCapabilityInput,
  VolumeCapability_AccessMode_Mode,
} from '@csi-sidecars/csi';
import { FakeClock } from '@csi-sidecars/runtime/testing';
import { allCapabilities, createDriverModel, type DriverModel, type Settings } from '../src/index.ts';

export const gib: bigint = 1024n ** 3n;

export function mount(mode: VolumeCapability_AccessMode_Mode = 'SINGLE_NODE_WRITER'): VolumeCapabilityInput {
  return { mount: {}, access_mode: { mode } };
}

export function block(mode: VolumeCapability_AccessMode_Mode = 'SINGLE_NODE_WRITER'): VolumeCapabilityInput {
  return { block: {}, access_mode: { mode } };
}

export function newVolume(name: string, more: CreateVolumeRequestInput = {}): CreateVolumeRequestInput {
  return { name, volume_capabilities: [mount()], capacity_range: { required_bytes: gib.toString() }, ...more };
}

export interface Bench {
  readonly model: DriverModel;
  readonly clock: FakeClock;
  readonly channel: CsiChannel;
  readonly call: Call;
  /** The code of the refusal, or OK. */
  readonly codeOf: <M extends Method>(method: M, request: RequestOf<M>) => Promise<string>;
  readonly createVolume: (request: CreateVolumeRequestInput) => Promise<string>;
}

type Call = <M extends Method>(method: M, request: RequestOf<M>) => Promise<ResponseOf<M>>;

export function bench(settings: Partial<Settings> = {}): Bench {
  const clock = new FakeClock();
  const model = createDriverModel({ settings, clock });
  const channel = model.channel({ lossPolicy: 'reconnect' });
  const call: Call = (method, request) => channel.call(method, request, { timeoutMs: 60_000 });
  return {
    model,
    clock,
    channel,
    call,
    codeOf: async (method, request) => await codeOf(call(method, request)),
    createVolume: async (request) => {
      const { volume } = await call('/csi.v1.Controller/CreateVolume', request);
      return volume!.volume_id;
    },
  };
}

/** The settings of a driver that lacks these capabilities. */
export function without(...types: string[]): Partial<Settings> {
  const keep = <T>(list: readonly T[]): T[] => list.filter((type) => !types.includes(String(type)));
  return {
    capabilities: {
      plugin: keep(allCapabilities.plugin),
      expansion: keep(allCapabilities.expansion),
      controller: keep(allCapabilities.controller),
      node: keep(allCapabilities.node),
      group: keep(allCapabilities.group),
    },
  };
}

export async function codeOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'OK';
  } catch (error) {
    if (error instanceof CsiError) return error.code;
    throw error;
  }
}
