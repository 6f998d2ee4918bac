// SPDX-License-Identifier: Apache-2.0

/**
 * The abort reason of an orderly stop: take no new work, finish what is running, then end. Every other reason (a lost lease, a
 * fault) cuts running work off. So one signal can carry both kinds of stop through all calls.
 */
export class OrderlyStop extends Error {
  override readonly name = 'OrderlyStop';
  constructor(message = 'stopping', options?: ErrorOptions) {
    super(message, options);
  }
}
