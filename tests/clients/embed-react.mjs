// A page that embeds a picture with the React component.

import { Graphistry } from '@graphistry/client-api-react';
import React from 'react';
import ReactDOM from 'react-dom';

window.connected = 0;
const connected = () => {
  window.connected += 1;
};

window.mount = (props) => {
  window.props = props;
  document.getElementById('viz')?.remove();
  const all = { ...props, onClientAPIConnected: connected };
  ReactDOM.render(React.createElement(Graphistry, all), document.getElementById('root'));
};
