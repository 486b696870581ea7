"""The official Python client of the first generation: older.py ADDRESS CREDENTIAL SESSION prints what it found."""

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(address, credential, session_id):
    async with streamablehttp_client(address, headers={"Authorization": f"Bearer {credential}"}) as streams:
        async with ClientSession(*streams[:2]) as session:
            started = await session.initialize()
            tools = (await session.list_tools()).tools
            resources = (await session.list_resources()).resources
            read = await session.read_resource(resources[0].uri)
            info = await session.call_tool("get_session_info", {"session_id": session_id})
            return {"version": started.protocolVersion, "server": started.serverInfo.name,
                    "tools": [t.name for t in tools], "resource": json.loads(read.contents[0].text),
                    "info": info.content[0].text}


print(json.dumps(asyncio.run(main(*sys.argv[1:]))))
