// SPDX-License-Identifier: Apache-2.0
/**
 * One attempt to reach the driver. Connected means that the HTTP/2 settings arrived, not only that the socket was
 * accepted. grpc-js could retry by itself; here every attempt is a separate channel, so that we control the pace: a
 * driver that starts late is connected within a second, whatever happened before.
 */
import { Channel, connectivityState, credentials } from '@grpc/grpc-js';
import type { ChannelInterface, ChannelOptions } from '@grpc/grpc-js';
import type { Clock } from '@csi-sidecars/runtime';
import { targetOf } from './address.ts';
import { type Connection, type Dial, attemptLimitMs } from './dial.ts';
import { exchangeOn } from './grpc-js-exchange.ts';
import { reasonNotReached } from './reach.ts';

/** The longest delay of a timer: 24.8 days. The activity below is far more frequent, so the channel never goes idle. */
const longestIdleMs = 2 ** 31 - 1;
const activityPeriodMs = 24 * 60 * 60 * 1000;

const channelOptions: ChannelOptions = {
  'grpc.client_idle_timeout_ms': longestIdleMs,
  'grpc.max_receive_message_length': 4 * 1024 * 1024,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.enable_channelz': 0,
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  // An attempt must not inherit the back-off, or the connection, of an earlier one.
  'grpc.use_local_subchannel_pool': 1,
};

export function dialer(clock: Clock): Dial {
  return async (address) => {
    const reason = await reasonNotReached(clock, address, attemptLimitMs);
    if (reason !== undefined) return { kind: 'failed', reason };
    const channel = new Channel(targetOf(address), credentials.createInsecure(), channelOptions);
    if (await isReady(clock, channel)) return { kind: 'connected', connection: connectionOn(clock, channel) };
    channel.close();
    return { kind: 'failed', reason: 'the driver went away while connecting' };
  };
}

function isReady(clock: Clock, channel: ChannelInterface): Promise<boolean> {
  return new Promise((resolve) => {
    const limit = clock.timer(attemptLimitMs, () => resolve(false));
    const look = (): void => {
      const state = channel.getConnectivityState(false);
      if (state === connectivityState.IDLE || state === connectivityState.CONNECTING) {
        channel.watchConnectivityState(state, Infinity, look);
      } else {
        limit.cancel();
        resolve(state === connectivityState.READY);
      }
    };
    channel.getConnectivityState(true);
    look();
  });
}

function connectionOn(clock: Clock, channel: ChannelInterface): Connection {
  let timer = clock.timer(activityPeriodMs, beActive);
  function beActive(): void {
    channel.getConnectivityState(true);
    timer = clock.timer(activityPeriodMs, beActive);
  }
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      timer.cancel();
      resolve();
    };
    if (channel.getConnectivityState(false) === connectivityState.READY) {
      channel.watchConnectivityState(connectivityState.READY, Infinity, end);
    } else {
      end();
    }
  });
  return { exchange: exchangeOn({ clock, channel }), ended, close: () => channel.close() };
}
