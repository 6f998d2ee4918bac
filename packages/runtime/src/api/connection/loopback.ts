// SPDX-License-Identifier: Apache-2.0
/** Whether a client is on this machine, and whether it has asked for this machine. */
import { isIPv4 } from 'node:net';

/** 127.0.0.0/8 and ::1, also as IPv6 sockets show the former. */
export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false;
  if (address === '::1') return true;
  const v4 = address.replace(/^::ffff:/i, '');
  return isIPv4(v4) && v4.startsWith('127.');
}

/** Of the header `Host`, with or without a port. Any other name may be one that somebody else lets resolve to this machine. */
export function isLoopbackHost(host: string | undefined): boolean {
  const { bracketed, plain = '' } =
    /^(?:\[(?<bracketed>[^\]]*)\]|(?<plain>[^:[\]]*))(?::\d{1,5})?$/.exec(host ?? '')?.groups ?? {};
  return bracketed === undefined
    ? plain.toLowerCase() === 'localhost' || isLoopbackAddress(plain)
    : bracketed === '::1';
}
